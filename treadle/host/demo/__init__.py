"""The bundled demo: a sample chat and a scripted writer."""
