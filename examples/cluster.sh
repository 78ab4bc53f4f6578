#!/bin/sh
# The smallest cluster: workers are programs, the network is a folder. Every folder days/N is one
# batch of CSV files. Run it again after any stop: a batch that was taken is not added again.
set -eu
umask 077 # partial sums are as private as the rows

if [ ! -e run/run.json ]; then
    # Only the header of the file is read. --batch is the most rows of a day.
    hushstream open days/0/a.csv --state run --ledger people.ledger \
        --target y --ignore who --bounds a=0:1,b=0:10 --vocabulary 'c=x|y|z' \
        --epsilon 1 --delta 1e-6 --rounds 6000 --batch 600
fi
hushstream question --state run --output question

day=0
while [ -d "days/$day" ]; do
    rm -rf parts && mkdir parts
    ls "days/$day" | xargs -P 4 -I FILE \
        hushstream partial "days/$day/FILE" --question question --output parts/FILE
    hushstream commit parts/* --state run --source days --batch "$day" \
        --positions "$(ls "days/$day"/* | paste -sd , -)" --model model.json --question question
    day=$((day + 1))
done
rm -r parts
