"""Linear rules without a list of them: half-spaces on a shared lattice, from the class to the certificate."""
