"""The catalogue in memory and as text; docs/how/catalogue-format.md describes the text."""
from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Key = Tuple[str, str]       # section, class
NN = "torch.nn"


class Presence(NamedTuple):
    optional: int           # 2: some default configuration goes without, 1: only changed ones do
    versions: frozenset


class Alternative(NamedTuple):
    key: Key                # ("", "ACT") and ("", "AUTO") are tables
    own: Optional[str]      # which of weight and bias it has: w, b, wb, 0; None where its class says so
    versions: frozenset
    place: str              # "^" only first in its list, "$" only last
    first: frozenset = frozenset()      # versions where it is the most frequent, though others come before it


class Member(NamedTuple):
    presence: Presence
    alternatives: List[Alternative]


class Class:
    def __init__(self, section: str, name: str) -> None:
        self.section, self.name, self.mark, self.word = section, name, "", ""
        self.versions: frozenset = frozenset()
        self.params: Dict[str, Presence] = {}
        self.buffers: Dict[str, Presence] = {}
        self.members: Dict[Tuple[str, ...], Member] = {}
        self.positions: Dict[Tuple[str, str], str] = {}

    @property
    def key(self) -> Key:
        return self.section, self.name


class Section:
    def __init__(self, module: str, alias: str, library: str) -> None:
        self.module, self.alias, self.library = module, alias, library
        self.words: List[str] = []
        self.rank = 0


class Catalogue:
    def __init__(self) -> None:
        self.versions: List[Tuple[str, str]] = []
        self.others: List[Tuple[str, str]] = []
        self.sections: Dict[str, Section] = {}
        self.classes: Dict[Key, Class] = {}
        self.tables: Dict[str, Dict[Key, set]] = {}


IMPLIED = Alternative((NN, "ModuleList"), None, frozenset(), "")
PLACES = {"^": "^", "n": "^!", "$": "$", "m": "$!", "&": "&"}
HEADER = """\
# The module catalogue: which class sits behind which attribute. Made by tools/catalogue/make_catalogue.py; do not edit.
# Columns are separated by tabs, empty columns at the end are left out. docs/how/catalogue-format.md says more.
#
#   version LETTER LIBRARY VERSION      masks (`~ce`) name these letters; no mask: all letters of what it is part of
#   library NAME VERSION                a library whose classes have no masks
#   table NAME ALT|ALT...               what a table look-up can give; the name stands as an alternative
#   @ MODULE ALIAS LIBRARY WORDS RANK   a section, the classes of one Python module; family words; popularity, 1 first
#   CLASS FACTS PARAMETERS BUFFERS MEMBERS
#
#   CLASS       `!` before it: a model of the library's public list (auto mapping); `:` another model class
#   FACTS       family word of a model, then `~mask`
#   PARAMETERS  separated by commas: `name[?|??][~mask]`; `#` is any number (weight_ih_l#), a lone `*` any name
#   BUFFERS     the same; `-` before it: not saved in the state dict
#   MEMBERS     separated by spaces: `path[?|??][~mask]=ALT|ALT...`, most frequent first
#   path        attributes joined by dots; `*` is any list index not listed itself; a prefix without an entry of its
#               own is a ModuleList that is always there
#   ?           missing in some default configuration; `??` only in changed ones, or optional by the source text
#   ALT         `REF[+own][^|$][~mask]`; own: `w` `b` `wb` `0`, its weight and bias where its class leaves that open;
#               `^` seen only as the first of its list, `$` only as the last; a capital letter in its mask: most
#               frequent in that version, though others come before it
#   REF         class of this section, else of torch.nn, else the only one of that name; else `ALIAS:CLASS`; or a table
#   list^path, list^!path, list$path, list$!path, list&path   (no `=`): below the members of that list, `path` is only
#               in the first, in all but the first, only in the last, in all but the last, in each
#   In names, characters other than letters, digits, `_` and `-` are written %XX (their UTF-8 bytes).
"""


def escape(name: str) -> str:
    return re.sub(r"[^\w\-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name)


def unescape(name: str) -> str:
    return bytes.fromhex("".join(part[1:] if part[0] == "%" else part.encode().hex()
                                 for part in re.findall(r"%[0-9A-F]{2}|[^%]", name))).decode()


# ---------------------------------------------------------------- writing

class Writer:
    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.owners: Dict[str, List[str]] = {}
        for section, name in sorted(catalogue.classes):
            self.owners.setdefault(name, []).append(section)
        self.all = frozenset(range(len(catalogue.versions)))

    def mask(self, versions: frozenset, outer: frozenset, first: frozenset = frozenset()) -> str:
        if versions >= outer and not first:
            return ""
        return "~" + "".join(LETTERS[i].upper() if i in first else LETTERS[i] for i in sorted(versions))

    def reference(self, key: Key, section: str) -> str:
        if not key[0]:
            return key[1]
        owners = self.owners[key[1]]
        home = section if section in owners else NN if NN in owners else owners[0] if len(owners) == 1 else None
        return escape(key[1]) if home == key[0] else f"{self.catalogue.sections[key[0]].alias}:{escape(key[1])}"

    def text(self) -> str:
        lines = [HEADER.rstrip("\n"), ""]
        for i, (name, number) in enumerate(self.catalogue.versions):
            lines.append(f"version\t{LETTERS[i]}\t{name}\t{number}")
        lines += [f"library\t{name}\t{number}" for name, number in self.catalogue.others]
        for table, entries in sorted(self.catalogue.tables.items()):
            lines.append(f"table\t{table}\t" + "|".join(
                self.reference(key, "") + self.mask(frozenset(versions), self.all)
                for key, versions in sorted(entries.items())))
        for module in sorted(self.catalogue.sections):
            section = self.catalogue.sections[module]
            lines += ["", columns(["@ " + module, section.alias, section.library, ",".join(section.words),
                                   str(section.rank or "")])]
            lines += [self.line(cls) for key, cls in sorted(self.catalogue.classes.items()) if key[0] == module]
        return "\n".join(lines) + "\n"

    def line(self, cls: Class) -> str:
        versioned = self.catalogue.sections[cls.section].library == "transformers"
        inside = cls.versions if versioned else frozenset()
        facts = cls.word + (self.mask(cls.versions, self.all) if versioned else "")
        return columns([cls.mark + escape(cls.name), facts, self.names(cls.params, inside),
                        self.names(cls.buffers, inside), " ".join(self.members(cls, inside))])

    def names(self, owned: Dict[str, Presence], inside: frozenset) -> str:
        return ",".join(plain(name) + "?" * (3 - p.optional if p.optional else 0) + self.mask(p.versions, inside)
                        for name, p in owned.items())

    def members(self, cls: Class, inside: frozenset) -> Iterator[str]:
        owners = {path[:i] for path in cls.members for i in range(1, len(path))}
        for path, member in cls.members.items():
            seen = member.presence.versions if inside else frozenset()
            mark = "?" * (3 - member.presence.optional if member.presence.optional else 0) + self.mask(
                member.presence.versions, inside)
            alternatives = "|".join(self.reference(a.key, cls.section) + ("+" + a.own if a.own else "") + a.place
                                    + self.mask(a.versions, seen, a.first if inside else frozenset())
                                    for a in member.alternatives)
            if not (path in owners and not mark and alternatives == self.reference(IMPLIED.key, cls.section)):
                yield f"{'.'.join(plain(step) for step in path)}{mark}={alternatives}"
        yield from sorted(".".join(plain(step) for step in path.split(".")) + PLACES[kind] + ".".join(
            plain(step) for step in name.lstrip(".").split(".")) for (path, name), kind in cls.positions.items())


def plain(step: str) -> str:
    lead = "-" if step.startswith("-") else ""
    return step if step == "*" else lead + "#".join(escape(part) for part in step[len(lead):].split("#"))


def columns(parts: List[str]) -> str:
    return "\t".join(parts).rstrip("\t")


# ---------------------------------------------------------------- reading

class Reader:
    def __init__(self, text: str) -> None:
        self.catalogue = Catalogue()
        self.by_alias: Dict[str, str] = {}
        self.by_name: Dict[str, List[str]] = {}
        section: Optional[Section] = None
        todo: List[Tuple[Class, List[str]]] = []
        tables: List[List[str]] = []
        for line in text.splitlines():
            parts = line.split("\t")
            if not line or line.startswith("#"):
                continue
            if section is None and parts[0] in ("version", "library", "table"):
                if parts[0] == "version":
                    self.catalogue.versions.append((parts[2], parts[3]))
                elif parts[0] == "library":
                    self.catalogue.others.append((parts[1], parts[2]))
                else:
                    tables.append(parts)
                continue
            parts += [""] * (5 - len(parts))
            if line.startswith("@ "):
                section = Section(parts[0][2:], parts[1], parts[2])
                section.words, section.rank = [word for word in parts[3].split(",") if word], int(parts[4] or 0)
                if section.module in self.catalogue.sections or section.alias in self.by_alias:
                    raise ValueError(f"section twice: {section.module}")
                self.catalogue.sections[section.module] = section
                self.by_alias[section.alias] = section.module
                continue
            if section is None:
                raise ValueError(f"class outside a section: {line[:40]}")
            cls = Class(section.module, unescape(parts[0].lstrip("!:")))
            cls.mark = parts[0][0] if parts[0][0] in "!:" else ""
            if cls.key in self.catalogue.classes:
                raise ValueError(f"class twice: {cls.key}")
            self.catalogue.classes[cls.key] = cls
            self.by_name.setdefault(cls.name, []).append(section.module)
            todo.append((cls, parts))
        self.all = frozenset(range(len(self.catalogue.versions)))
        for _, name, entries in tables:
            self.catalogue.tables[name] = {}
            for entry in entries.split("|"):
                reference, _, mask = entry.partition("~")
                self.catalogue.tables[name][self.key(reference, "")] = set(self.versions(mask, self.all))
        for cls, parts in todo:
            self.fill(cls, parts)

    def versions(self, mask: str, outer: frozenset) -> frozenset:
        return frozenset(LETTERS.index(letter.lower()) for letter in mask) if mask else outer

    def key(self, reference: str, section: str) -> Key:
        if reference in ("ACT", "AUTO"):
            return "", reference
        alias, _, name = reference.rpartition(":")
        name = unescape(name)
        owners = self.by_name[name]
        if alias:
            module = self.by_alias[alias]
        elif section in owners:
            module = section
        elif NN in owners:
            module = NN
        else:
            module, = owners
        if module not in owners:
            raise ValueError(f"no such class: {reference}")
        return module, name

    def fill(self, cls: Class, parts: List[str]) -> None:
        versioned = self.catalogue.sections[cls.section].library == "transformers"
        cls.word, _, mask = parts[1].partition("~")
        cls.versions = self.versions(mask, self.all) if versioned else frozenset()
        for store, text in ((cls.params, parts[2]), (cls.buffers, parts[3])):
            for token in text.split(",") if text else ():
                name, presence = self.presence(token, cls.versions)
                store[name] = presence
        for token in parts[4].split(" ") if parts[4] else ():
            if "=" not in token:
                path, sign, name = re.match(r"(.*?)(\^!|\$!|\^|\$|&)(.*)", token).groups()
                cls.positions[path, name] = next(kind for kind, text in PLACES.items() if text == sign)
                continue
            left, _, right = token.partition("=")
            path, presence = self.presence(left, cls.versions)
            member = Member(presence, [])
            for text in right.split("|"):
                reference, own, place, mask = re.fullmatch(r"([^+^$~]+)(?:\+(\w+))?([\^$]?)(?:~(\w+))?", text).groups()
                first = "".join(letter for letter in mask or "" if letter.isupper())
                member.alternatives.append(Alternative(
                    self.key(reference, cls.section), own, self.versions(mask or "", presence.versions), place,
                    self.versions(first, frozenset())))
            cls.members[tuple(unescape(step) if step != "*" else step for step in path.split("."))] = member
        for path in list(cls.members):
            for i in range(1, len(path)):
                cls.members.setdefault(path[:i], Member(Presence(0, cls.versions), [IMPLIED._replace(
                    versions=cls.versions)]))

    def presence(self, token: str, outer: frozenset) -> Tuple[str, Presence]:
        left, _, mask = token.partition("~")
        name = left.rstrip("?")
        return name, Presence((0, 2, 1)[len(left) - len(name)], self.versions(mask, outer))


def read(text: str) -> Catalogue:
    return Reader(text).catalogue


def write(catalogue: Catalogue) -> str:
    return Writer(catalogue).text()
