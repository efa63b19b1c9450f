"""What runs on other machines than the market's: the owner's agent and the trustee's."""
