"""Who is bought, at what price: mechanisms, exact solvers, payments, and the audit that trusts none of them."""
