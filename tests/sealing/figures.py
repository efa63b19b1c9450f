"""How long sealing and opening take: python -m sealing.figures [envelopes], in tests/."""

import sys
from time import process_time

from kantor.evidence.canonical import canonical
from kantor.sealing.ceremony import Ceremony
from kantor.sealing.envelope import open_envelope, seal
from kantor.sealing.identity import TrusteeIdentity
from kantor.sealing.opening import check_envelopes, check_partials, combine, partials
from kantor.sealing.terms import Terms
from sealing.planted import context, key_of, shares_of, terms_of


def timed(name, step, count):
    """Do it once, and say how long the processor took."""
    start = process_time()
    result = step()
    took = process_time() - start
    sys.stdout.write(f"{name:34} {took:7.2f} s {1e6 * took / count:7.0f} us each\n")
    return result


def ceremony():
    """Three trustees in one process, all three rounds."""
    own = [TrusteeIdentity.new() for _ in range(3)]
    terms = Terms("market", tuple(each.public(str(place)) for place, each in enumerate(own)))
    everybody = [Ceremony.begin(each, terms, lambda _: None) for each in own]
    commitments = [each.commit() for each in everybody]
    shares = [each.deal(commitments) for each in everybody]
    return [each.finish(shares) for each in everybody], [each.sign() for each in everybody]


def main(count):
    """All steps for so many bids, two trustees of three."""
    key, shares = key_of(), shares_of()
    timed("ceremony, 2 of 3", ceremony, 1)
    envelopes = timed("seal", lambda: [(seal(key, b"{}", context(k)), context(k)) for k in range(count)], count)
    timed("check envelopes", lambda: check_envelopes(key, envelopes), count)
    first = timed("a trustee: check and partials", lambda: partials(shares[0], key, envelopes, "set"), count)
    third = partials(shares[2], key, envelopes, "set")
    checked = {1: timed("check one trustee's partials", lambda: check_partials(key, envelopes, "set", 1, first), count)}
    checked[3] = check_partials(key, envelopes, "set", 3, third)
    points = timed("combine two trustees'", lambda: combine(key, checked), count)
    opened = zip(envelopes, points, strict=True)
    timed("open", lambda: [open_envelope(key, *each, point) for each, point in opened], count)
    sizes = len(canonical(envelopes[0][0])), len(canonical(first)) // count
    sys.stdout.write(f"{sizes[0]} bytes an envelope, {sizes[1]} bytes a partial; threshold {terms_of().threshold}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
