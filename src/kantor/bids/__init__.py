"""What owners tell the market: bids, prior beliefs about prices, and the virtual costs that follow from them."""
