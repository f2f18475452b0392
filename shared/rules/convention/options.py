"""The convention of a pulka: every question that the Code leaves to agreement, answered once and frozen when the pulka starts.

A convention is data (deploy/docs/convention.md): a preset's name, or an object with a preset and what differs. `resolve` makes the
full document of it; where play differs, one small function is picked by the option's value.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from shared.rules.convention import presets
from shared.rules.language.documents import convert
from shared.rules.language.refusal import Malformed

#: Version of the document and of what its values mean; counted up whenever an old document would be scored differently.
#: A pulka keeps the version that it was opened with, for ever (Decision 28). From 2 on: Decisions 25, 26, 27, and the tie of Decision 16.
VERSION: Final = 2

Level = Annotated[int, msgspec.Meta(ge=6, le=10)]
Price = Annotated[int, msgspec.Meta(ge=1, le=1_000)]  # an agreed price of a trick; the limit only keeps numbers readable
Points = Annotated[int, msgspec.Meta(ge=0, le=1_000)]  # agreed points; the same limit
Levels = tuple[Level, ...]
# `$` alone would let a line break follow
Ending = Annotated[str, msgspec.Meta(pattern=r"^(all_closed|pool_sum|(deals|time):[1-9][0-9]{0,4})$(?!\n)")]

WhisterRemise = Literal["full", "half", "none", "half_until_closed"]
SingleWhister = Literal["greedy", "gentleman_remise", "gentleman_always", "own"]
PairSixSeven = Literal["below_half", "own_half", "capped"]
PairEightUp = Literal["second", "both", "second_own", "each_own"]


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agreed number that does not follow the price of the game: `{"fixed": 10}`."""

    fixed: Points


class Dark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dark calls are in force (3.3.19); `limit` steps of doubling at most; `opening_rounds` of forced all-pass begin the pulka (3.7.9)."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10)]
    opening_rounds: Annotated[int, msgspec.Meta(ge=0, le=10)]


class AllPass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a deal is played and written when all passed (3.7). `prices` and `exit_levels` go by the place in a series, the last repeats."""

    scoring: Literal["mountain", "whists"]
    prices: Annotated[tuple[Price, ...], msgspec.Meta(min_length=1, max_length=20)]
    amnesty: bool
    zero_bonus: Literal["price", "none", "off_mountain_2"] | Fixed
    zero_bonus_dealer: bool
    talon: Literal["leads", "aside"]
    exit_levels: Annotated[Levels, msgspec.Meta(min_length=1, max_length=20)]
    series_ends: Literal["any_game", "made_game", "whisted_made_game"]
    dealer: Literal["passes", "repeats"]


class Convention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every option with its value (meanings: deploy/docs/convention.md). `preset` tells where it began and decides nothing;
    `version` is that of the rules by which the pulka is played and scored.

    Reads: `remise_factor` and `whist_factor` scale the declarer's mountain and the whists; `whister_remise` is the share of a whister's
    missing trick; `single_whister`, `pair_6_7`, `pair_8_9`, `pair_10` say who answers and who writes; `help`, `ends_when`, `pool_weight`
    and `settlement_divisor` how the pulka closes and is settled.
    """

    preset: Literal["sochi", "leningrad", "rostov", "classic", "code", "federation"]
    version: Literal[1, 2] = VERSION
    remise_factor: Literal[1, 2]
    whist_factor: Literal[1, 2]
    whister_remise: WhisterRemise
    declarer_remise: Literal["mountain", "direct"]
    consolation: Literal["price", "none"] | Fixed
    single_whister: SingleWhister
    pair_6_7: PairSixSeven
    pair_8_9: PairEightUp
    pair_10: PairEightUp
    ten: Literal["whisted", "checked"]
    half_whist: Levels
    pass_return: Levels
    first_hand_half: bool
    dealer_whist: Literal["off", "responsible", "free"]
    stalingrad: bool
    without_three: Levels
    shared_misere: bool
    misere_no_talon: bool
    dark: bool | Dark
    here: Literal["senior", "first_hand", "off"]
    step_by_step: bool
    silent_take: bool
    talon_bonus: Literal["off", "on"]
    refused_talon: Points
    all_pass: AllPass
    help: Literal["largest", "clockwise", "lowest", "none"]
    help_surplus: Literal["below_zero", "clamp_at_zero"]
    ends_when: Ending
    settlement_divisor: Literal["n", "n-1"]
    pool_weight: Literal[1, 2]


def resolve(value: object, target: int | None = None, path: str = "convention", version: Literal[1, 2] = VERSION) -> Convention:
    """The full document for a preset's name or an object `{"preset": NAME, ...what differs}`; the nested `all_pass` merges too.

    `target` is the pool to play to, None without one: then nobody helps, and an inherited `help` gives way to an explicit `pool_weight: 2`.
    Likewise an inherited `first_hand_half` to `half_whist: []`, an inherited amnesty to `scoring: whists`. `version` is meant where none is
    named.
    Raises `Malformed` with the option's path: unknown names, fields and values, and contradictory options, naming both.
    """
    if isinstance(value, str):
        if value not in PRESETS:
            raise Malformed(path, f"no such convention: {value!r}; there are {', '.join(presets.NAMES)}")
        return msgspec.structs.replace(PRESETS[value], version=version)
    if not isinstance(value, dict):
        raise Malformed(path, "must be the name of a preset or an object with a preset and what differs")
    name = value.get("preset")
    if not isinstance(name, str) or name not in PRESETS:
        raise Malformed(f"{path}.preset", f"must be one of {', '.join(presets.NAMES)}")
    inner = value.get("all_pass")
    if inner is not None and not isinstance(inner, dict):
        raise Malformed(f"{path}.all_pass", "must be an object")
    convention = _converted(presets.merged({"version": version} | presets.named(name), value), path)
    convention = _without_idle(convention, value, target)
    _refuse_contradictions(convention, path)
    return convention


def _without_idle(convention: Convention, said: dict[str, Any], target: int | None) -> Convention:
    """What was only inherited and has nothing to act on is off: help without a target, half for the first hand where no level has a half,
    an amnesty where all-pass is written in whists. Said outright it contradicts.
    """
    inner = said.get("all_pass") or {}
    if target is None and convention.help != "none" and "help" not in said and convention.pool_weight != 1:
        convention = msgspec.structs.replace(convention, help="none")
    if not convention.half_whist and "first_hand_half" not in said:
        convention = msgspec.structs.replace(convention, first_hand_half=False)
    if convention.all_pass.scoring == "whists" and "amnesty" not in inner:
        convention = msgspec.structs.replace(convention, all_pass=msgspec.structs.replace(convention.all_pass, amnesty=False))
    return convention


def _converted(options: dict[str, Any], path: str) -> Convention:
    try:
        return convert(options, Convention, path)
    except Malformed as error:
        owner: type[msgspec.Struct] = AllPass if error.path.startswith(f"{path}.all_pass.") else Convention
        allowed = _allowed(owner, error.path.rsplit(".", 1)[-1])
        if error.path == f"{path}.ends_when":
            allowed = "all_closed, pool_sum, deals:N or time:MIN"
        vague = error.message.startswith(("Invalid enum value", "Expected `str"))  # says not what would be right
        message = f"must be {allowed}" if allowed and vague else error.message
        raise Malformed(error.path, message) from None


def _allowed(owner: type[msgspec.Struct], option: str) -> str:
    """The words or numbers that `option` of `owner` takes, for a person; empty where it takes no fixed ones."""
    hint = get_type_hints(owner).get(option)
    kinds = (hint, *get_args(hint))
    words = [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    words += ['{"fixed": n}'] if Fixed in kinds else []
    return " or ".join(words)


def _refuse_contradictions(convention: Convention, path: str) -> None:  # noqa: C901 - one line a contradiction
    """Options that cannot hold together, each pair with the reason."""

    def refuse(one: str, other: str, why: str) -> None:
        values = {option: getattr(convention, option) for option in Convention.__struct_fields__}
        values |= {f"all_pass.{option}": getattr(convention.all_pass, option) for option in AllPass.__struct_fields__}
        options = " and ".join(f"{option} {values[option]!r}" for option in (one, other))
        raise Malformed(f"{path}.{one}", f"{options} contradict each other: {why}")

    if convention.dark is True:
        raise Malformed(f"{path}.dark", 'must be false or {"limit": n, "opening_rounds": n}')
    for option in ("half_whist", "pass_return", "without_three"):
        levels = getattr(convention, option)
        if len(set(levels)) != len(levels):
            raise Malformed(f"{path}.{option}", "names a level twice")
    if convention.help != "none":
        if convention.ends_when != "all_closed":
            refuse("help", "ends_when", "with help the pulka goes on until every pool is closed (4.2.3)")
        if convention.pool_weight != 1:
            refuse("help", "pool_weight", "ten whists a point given pay for a pool point of weight 1 (4.2.3)")
    if convention.first_hand_half and not convention.half_whist:
        refuse("first_hand_half", "half_whist", "half-whist is not allowed at any level (3.8.14)")
    for option in ("half_whist", "pass_return"):
        if convention.ten == "checked" and 10 in getattr(convention, option):
            refuse("ten", option, "a checked ten is played without whist calls (FN39)")
    if convention.declarer_remise == "direct" and convention.consolation == "none":
        refuse("declarer_remise", "consolation", "a direct remise is paid by the consolation alone")
    if convention.all_pass.scoring == "whists" and convention.all_pass.amnesty:
        refuse("all_pass.scoring", "all_pass.amnesty", "in whists the others' tricks are written, and nobody's are subtracted (FN46)")


#: Options that came after the first pulkas, with the value that means "as before"; one of the all-pass as `all_pass.NAME`. A document
#: leaves them out there, so that what was stored before they came is read and written to the byte, and has the digest that it had.
LATER: Final[dict[str, Any]] = {}


def to_document(convention: Convention) -> dict[str, Any]:
    """The options as plain data, just as JSON gives them back, so that an event is the same live and replayed; `from_document` reads it."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(convention))
    for option, before in LATER.items():
        group, _, name = option.rpartition(".")
        options = plain[group] if group else plain
        if options[name] == before:
            del options[name]
    return plain


def from_document(data: dict[str, Any]) -> Convention:
    """The convention that `to_document` wrote. Raises `Malformed` for anything else."""
    return convert(data, Convention, "convention")


def digest(convention: Convention) -> str:
    """SHA-256, in hex, of the options and their version: equal exactly when two records play and score alike, however they were named."""
    options = to_document(convention)
    del options["preset"]
    return hashlib.sha256(msgspec.json.encode(options, order="deterministic")).hexdigest()


PRESETS: dict[str, Convention] = {name: convert({"preset": name} | presets.named(name), Convention, name) for name in presets.NAMES}
