"""Small helpers under the names that HTA has for them."""
