module agentcore/bench/peers

go 1.19
