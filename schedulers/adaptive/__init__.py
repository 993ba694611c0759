"""What ``adaptive_bdp`` reckons with, one concept a file: values in, values out."""
