"""`kantor buyer result` and `download`: what was bought, at what price, with what proof; and the data themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantor.commands.buyer.reaching import FOLDER, Folder, MarketId, ServerOf, buyer_in
from kantor.commands.connecting import TokenFile
from kantor.commands.options import Json, show_rows
from kantor.commands.owner.showing import show_lines
from kantor.errors import EvidenceError
from kantor.terminal import Progress, is_terminal, print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.purchase import Purchase
    from kantor.service.terms import Terms

__all__ = ["download", "result"]


def result(
    market: MarketId,
    bundle: Annotated[
        Path | None, typer.Option(help="Write the public bundle to this .json file: `kantor verify` checks it offline.")
    ] = None,
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """What the market bought: how many, for how much, what each winner is paid, and the public certificate.

    Example: kantor buyer result 9f2c5a1b7d3e4f60 --bundle market.json
    """
    from kantor.writing import check_destination, write_text

    if bundle is not None:
        check_destination(bundle, (".json",))
    with buyer_in(market, home, server, token_file) as (client, about):
        found = client.result(market)
        if bundle is not None:
            write_text(client.bundle(market, "public").decode(), bundle)
    signed = found["public"] is not None and _signed(found["public"], about["server_key"])
    if as_json:
        print_json({**found, "signed": signed, "bundle": None if bundle is None else str(bundle)})
        return
    if not found["cleared"]:
        say(f"There is no result yet: the market is {found['state']}. See: kantor buyer status {market}")
        return
    _show(found, about, signed)
    if bundle is not None:
        say(f"The public bundle is in {bundle}. Check it with: kantor verify {bundle}", stderr=True)


def _signed(public: dict[str, Any], server: str) -> bool:
    from kantor.evidence.signing import is_signed

    return is_signed(server, "public", {k: v for k, v in public.items() if k != "signature"}, public["signature"])


def _show(found: dict[str, Any], about: dict[str, Any], signed: bool) -> None:
    import polars as pl

    from kantor.service.terms import Terms

    terms, public = Terms.model_validate(about["terms"]), found["public"]
    money = terms.money
    table = pl.DataFrame(
        {
            "owner": [row["owner"] for row in found["winners"]],
            "payment": [money.plain(row["payment"]) for row in found["winners"]],
            "epsilon": [row["epsilon"] for row in found["winners"]],
            "delivered": ["yes" if row["delivered"] else "no" for row in found["winners"]],
        }
    )
    if not is_terminal():
        show_rows(table, "", [])
        return
    lines: list[str | tuple[str, str]] = [
        (
            "Bought",
            f"{public['bought']:,} of {public['bids']:,} owners who bid, for {money.show(public['spend'])} in all",
        ),
        ("Bound", _bound(public, terms)),
    ]
    if public["excluded"]:
        lines.append(("Left out", f"{len(public['excluded']):,} bids that could not be used"))
    lines += [
        (
            "Honest prices",
            "are best for owners under these payments" if public["truthful"] else "are not proved to be best",
        ),
        ("Certificate", f"outcome {public['outcome'][:16]}... of bids {public['root'][:16]}..., {_word(signed)}"),
    ]
    show_lines(f"{about['title']} (market {about['id']}, {found['state']})", lines)
    if table.height:
        show_rows(table, "Winners", ["owner", f"is paid, {terms.currency}", "epsilon", "delivered"])


def _bound(public: dict[str, Any], terms: Terms) -> str:
    """What the purchase is worth, as the clearing counts."""
    if public["bound"] is None:
        return "nothing was bought"
    value = float(public["bound"])
    sure = f"at confidence {terms.rule.confidence} (it ranks coalitions; it is no guarantee)"
    if terms.rule.mechanism == "exogenous":
        return f"{value:.6g} on the distance to the target, {sure}"
    return f"{terms.money.show(round(value))} on your loss, {sure}"


def _word(signed: bool) -> str:
    return "signed by the market" if signed else "and the signature on it is NOT the market's"


def download(
    market: MarketId,
    out: Annotated[Path, typer.Option(help="The folder to write to; made if missing.")],
    home: Folder = FOLDER,
    server: ServerOf = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Download what was bought: aggregate.csv, manifest.json and, if the terms allow, each winner's noised series.

    The values are compared with the manifest, and that with the market's log; exit code 1, and nothing is written, if
    they differ.

    Example: kantor buyer download 9f2c5a1b7d3e4f60 --out purchase
    """
    from kantor.service.agent.purchase import is_logged, read_purchase

    with buyer_in(market, home, server, token_file) as (client, _):
        plain, log = client.purchase(market), list(client.log(market))
    try:
        with Progress("Checking what came", quiet=as_json):
            found = read_purchase(plain)
            logged = found is not None and is_logged(found.manifest, log, market)
    except EvidenceError as fault:
        if as_json:
            print_json({"market": market, "verified": False, "wrong": str(fault)})
        else:
            say(f"WRONG: {fault}")
        raise typer.Exit(1) from fault
    written = [] if found is None else _write(found, out)
    if as_json:
        sha256 = None if found is None else found.manifest["sha256"]
        about = {"market": market, "verified": True, "logged": logged, "sha256": sha256}
        print_json({**about, "written": list(map(str, written))})
    elif found is None:
        say("Nothing was delivered: there is nothing to download, and nothing is paid.")
    else:
        say(f"Written to {out}: {', '.join(str(each.relative_to(out)) for each in written[:2])}{_others(written)}.")
        _show_manifest(found.manifest, logged)


def _show_manifest(manifest: dict[str, Any], logged: bool) -> None:
    one, mean = manifest["noise_sd_of_a_value"], manifest["noise_sd_of_the_mean"]
    owners = f"{len(manifest['delivered']):,} owners ({manifest['aggregate']})"
    say(
        f"{manifest['values']:,} values from {owners}, with noise of standard deviation {one:.4g} on each value and "
        f"{mean:.4g} on their mean. They are those of the manifest."
    )
    if logged:
        say("The manifest is the one in the market's log.")
    else:
        say("The operator has refused a delivery since it was logged: the aggregate was made again without it.")
    if manifest["missing"]:
        say(f"Bought, and not delivered or refused, so not paid: {len(manifest['missing'])}.")


def _others(written: list[Path]) -> str:
    more = len(written) - 2
    return "" if more <= 0 else f" and {more:,} series"


def _write(found: Purchase, out: Path) -> list[Path]:
    import polars as pl

    from kantor.terminal import plain
    from kantor.writing import make_folder, write_table, write_text

    make_folder(out)
    columns = {"value": found.values} if found.weights is None else {"value": found.values, "weight": found.weights}
    written = [out / "aggregate.csv", out / "manifest.json"]
    write_table(pl.DataFrame(columns), written[0])
    write_text(json.dumps(plain(found.manifest), indent=2) + "\n", written[1])
    if found.series:
        for old in make_folder(out / "series").glob(f"{'[0-9a-f]' * 20}.csv"):
            old.unlink()  # of an earlier download
    for owner, values in sorted(found.series.items()):
        written.append(out / "series" / f"{owner}.csv")
        write_table(pl.DataFrame({"value": values}), written[-1])
    return written
