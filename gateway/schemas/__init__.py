"""Tool schemas as each format takes them."""
