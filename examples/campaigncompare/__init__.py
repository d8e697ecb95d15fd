"""CampaignCompare: what each advertising campaign costs and brings in, while it runs."""
