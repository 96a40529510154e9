"""Model providers as real servers on loopback: scripted answers, the providers' own rules on what is asked."""
