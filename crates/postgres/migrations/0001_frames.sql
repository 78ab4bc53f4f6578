-- The random name of this store: a node knows it again.
CREATE TABLE store (
    name uuid PRIMARY KEY DEFAULT gen_random_uuid()
);
INSERT INTO store DEFAULT VALUES;

-- Who learns a data set. The fence counts holders: it never goes back.
CREATE TABLE leases (
    dataset bigint PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until timestamptz NOT NULL
);

-- Logs of the mechanism. Of a ledger that was rewritten, the old frames keep their checksums.
CREATE TABLE frames (
    log text NOT NULL,
    seq bigint NOT NULL,
    crc bigint NOT NULL,
    bytes bytea,
    PRIMARY KEY (log, seq)
);

-- What was published, and under which fence. Public.
CREATE TABLE releases (
    run text NOT NULL,
    version bigint NOT NULL,
    fence bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes bytea NOT NULL,
    PRIMARY KEY (run, version)
);

-- Nodes that joined, and why an operator let them.
CREATE TABLE nodes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text
);
