-- What a server keeps besides ledgers, journals and releases. Rows are in the server's own form.

-- Tenants, tokens, data sets, models and sealed secrets. `changed` rises in the order of commits, so
-- that a node reads what is new to it.
CREATE TABLE settings (
    kind smallint NOT NULL,
    name text NOT NULL,
    row bytea NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX settings_changed ON settings (changed);

-- The rounds of a model: locked by whoever gives out a slot. `at` is the time of its last change,
-- `due` of the next, in milliseconds; it is behind while closed batches were not learned from.
CREATE TABLE rounds (
    model bigint PRIMARY KEY,
    dataset bigint NOT NULL,
    at bigint NOT NULL,
    due bigint,
    behind boolean NOT NULL,
    row bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX rounds_due ON rounds (due) WHERE due IS NOT NULL;
CREATE INDEX rounds_behind ON rounds (model) WHERE behind;

-- The slot of an event, by a keyed hash of its id, for as long as the model.
CREATE TABLE ids (
    model bigint NOT NULL,
    id bytea NOT NULL,
    slot bigint NOT NULL,
    PRIMARY KEY (model, id)
);

-- What fills a slot, until it is learned from. Private.
CREATE TABLE slots (
    model bigint NOT NULL,
    slot bigint NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (model, slot)
) WITH (fillfactor = 70);

-- Who did what.
CREATE TABLE audit (
    seq bigint PRIMARY KEY,
    tenant text,
    row bytea NOT NULL
);
