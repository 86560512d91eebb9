"""Dumped module trees merged into the catalogue's classes: the second half of make_catalogue.py.

A class is the union of all its instances. Each distinct instance counts once per tree that holds it, so twelve equal
layers weigh as much as one. Containers (ModuleList, Sequential, ModuleDict) are folded into the class that owns them.
"""
from __future__ import annotations

import collections
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from catalogue.catalogue_dumped import CONTAINERS, LOOSE, Kids, Tree, alias_of, home
from catalogue.catalogue_format import Alternative, Catalogue, Class, Member, Presence, Section
from catalogue.popular_families import POPULAR

LIST_INDICES = 4        # a ModuleList of unlike members keeps their indices up to this length,
CHAIN_INDICES = 12      # a Sequential up to this one


class Weight(NamedTuple):
    """How often something was seen: in which version, in default configurations, in changed ones."""
    version: int
    plain: int
    changed: int


class Holder(NamedTuple):
    """An instance of a class, or of a container at one path inside it."""
    weight: Weight
    kind: str
    kids: Kids
    dump: int


class Merger:
    def __init__(self, trees: Sequence[Tree]) -> None:
        self.trees = list(trees)
        self.releases = sorted({tree.version for tree in trees if tree.package == "transformers"},
                               key=lambda text: [int(part) for part in text.split(".")])
        self.catalogue = Catalogue()
        self.catalogue.versions = [("transformers", release) for release in self.releases]
        self.catalogue.others = sorted({(tree.library, tree.version) for tree in trees
                                        if tree.package != "transformers"})
        self.instances: Dict[Tuple[str, str], List[Tuple[int, int]]] = collections.defaultdict(list)
        newest_first = sorted(range(len(self.trees)), key=lambda i: (-self.release(i), self.trees[i].library))
        for dump in newest_first:
            tree = self.trees[dump]
            for node in sorted(tree.counts):
                if not tree.container(node):
                    self.instances[tree.nodes[node][0]].append((dump, node))
        self.patterns: Dict[Tuple[Tuple[str, str], str], Dict[str, str]] = {}
        self.samples: Dict[Tuple[Tuple[str, str], str], Tuple[Tree, int]] = {}

    def release(self, dump: int) -> int:
        tree = self.trees[dump]
        return self.releases.index(tree.version) if tree.package == "transformers" else -1

    def weight(self, dump: int, node: int) -> Weight:
        """Only classes of transformers have versions."""
        tree = self.trees[dump]
        release = -1
        if tree.nodes[node][0][0].startswith("transformers."):
            version = tree.version if tree.package == "transformers" else tree.beside
            release = self.releases.index(version) if version in self.releases else len(self.releases) - 1
        return Weight(release, *tree.counts[node])

    # ---- classes

    def merge(self) -> Catalogue:
        for key in sorted(self.instances):
            section, name = key
            if section not in self.catalogue.sections:
                alias = alias_of(section)
                taken = any(other.alias == alias for other in self.catalogue.sections.values())
                self.catalogue.sections[section] = Section(section, section if taken else alias, section.split(".")[0])
            cls = Class(section, name)
            self.catalogue.classes[key] = cls
            cls.versions = self.versions(self.weight(*item) for item in self.instances[key])
            for kind, at in (("params", 1), ("buffers", 2)):
                owned = [(self.weight(*item), self.trees[item[0]].nodes[item[1]][at]) for item in self.instances[key]]
                for member in dict.fromkeys(name for _, names in owned for name in names):
                    presence = self.presence([weight for weight, _ in owned],
                                             [weight for weight, names in owned if member in names])
                    getattr(cls, kind)[member] = presence
        for key in sorted(self.instances):
            holders = [self.holder(*item) for item in self.instances[key]]
            self.members(self.catalogue.classes[key], (), holders)
        for tree in self.trees:
            self.read_source(tree)
        self.spread_patterns()
        for name in sorted(CONTAINERS):
            cls = Class("torch.nn", name)
            cls.params = {"*": Presence(2, frozenset())} if name in LOOSE else {}
            self.catalogue.classes[cls.key] = cls
        self.mark_roots()
        self.name_families()
        self.tables()
        return self.catalogue

    def holder(self, dump: int, node: int, weight: Optional[Weight] = None) -> Holder:
        tree = self.trees[dump]
        return Holder(weight or self.weight(dump, node), tree.nodes[node][0][1], tree.nodes[node][3], dump)

    def versions(self, weights: Iterable[Weight]) -> frozenset:
        return frozenset(weight.version for weight in weights if weight.version >= 0)

    def presence(self, all_weights: List[Weight], with_it: List[Weight]) -> Presence:
        versions = self.versions(with_it)
        full, have = collections.Counter(), collections.Counter()
        for counter, weights in ((full, all_weights), (have, with_it)):
            for weight in weights:
                counter[weight.version, 0] += weight.plain
                counter[weight.version, 1] += weight.changed
        optional = 0
        for (version, changed), count in full.items():
            if have[version, changed] < count and (version in versions or version < 0):
                optional = max(optional, 1 if changed else 2)
        return Presence(optional, versions)

    # ---- members

    def members(self, cls: Class, path: Tuple[str, ...], holders: List[Holder]) -> None:
        numbered = sorted({int(key) for holder in holders for key, _, _ in holder.kids if key.isdigit()})
        starred = bool(numbered) and self.collapses(holders, numbered)
        explicit = not starred or starred == "both"
        done = set()
        for holder in holders:
            for key, _, _ in holder.kids:
                if key in done:
                    continue
                done.add(key)
                if key.isdigit() and starred and "*" not in done:
                    done.add("*")
                    self.member(cls, path + ("*",), holders, lambda k: k.isdigit())
                if not key.isdigit() or explicit:
                    self.member(cls, path + (key,), holders, lambda k, key=key: k == key)

    def collapses(self, holders: List[Holder], numbered: List[int]) -> Any:
        """Whether indices become `*`: False, True or "both" (a short list of unlike members)."""
        mixed, listed = False, True
        for holder in holders:
            kinds = {self.trees[holder.dump].nodes[node][0] for key, node, _ in holder.kids if key.isdigit()}
            mixed = mixed or len(kinds) > 1
            listed = listed and (holder.kind == "ModuleList" or not kinds)
        if not mixed:
            return listed or numbered != [0]
        if listed:
            return "both" if len(numbered) <= LIST_INDICES else True
        return len(numbered) > CHAIN_INDICES

    def member(self, cls: Class, path: Tuple[str, ...], holders: List[Holder], fits: Any) -> None:
        having: List[Weight] = []
        weights: Dict[Tuple[Tuple[str, str], Tuple[bool, bool]], List[Weight]] = collections.defaultdict(list)
        places: Dict[Tuple[str, str], Set[str]] = collections.defaultdict(set)
        tables: Set[str] = set()
        inner: List[Holder] = []
        for holder in holders:
            tree = self.trees[holder.dump]
            found = [(key, node, origin) for key, node, origin in holder.kids if fits(key)]
            if not found:
                continue
            having.append(holder.weight)
            seen: Set[Any] = set()
            entered: Set[int] = set()
            for position, (key, node, origin) in enumerate(found):
                name, params, _, _ = tree.nodes[node]
                own = ("weight" in params, "bias" in params)
                if (name, own) not in seen:
                    seen.add((name, own))
                    weights[name, own].append(holder.weight)
                if len(found) > 1:
                    places[name].add("^" if position == 0 else "$" if position == len(found) - 1 else "-")
                if origin:
                    tables.add(origin)
                if tree.container(node) and node not in entered:
                    entered.add(node)
                    inner.append(self.holder(holder.dump, node, holder.weight))
            if path[-1] == "*":
                self.note_patterns(cls, path, tree, found)
        member = Member(self.presence([holder.weight for holder in holders], having), [])
        vague: Dict[Any, List[Weight]] = collections.defaultdict(list)
        for (name, own), seen_weights in weights.items():
            child = self.catalogue.classes.get(name)
            telling = child is not None and any(key in child.params and child.params[key].optional
                                                for key in ("weight", "bias"))
            vague[name, own if telling else None].extend(seen_weights)
        order = sorted(vague.items(), key=lambda item: (-sum(weight.plain for weight in item[1]),
                                                        -sum(weight.changed for weight in item[1]),
                                                        item[0][0], str(item[0][1])))
        first = self.firsts([seen_weights for _, seen_weights in order])
        for number, ((name, own), seen_weights) in enumerate(order):
            place = places[name] if len(places) > 1 else set()
            member.alternatives.append(Alternative(
                name, None if own is None else "".join(letter for letter, has in zip("wb", own) if has) or "0",
                self.versions(seen_weights), next(iter(place)) if len(place) == 1 and place <= {"^", "$"} else "",
                first[number]))
        for table in sorted(tables):
            member.alternatives.append(Alternative(("", table), None, member.presence.versions, ""))
        cls.members[path] = member
        if inner:
            self.members(cls, path, inner)

    def firsts(self, weights: List[List[Weight]]) -> List[frozenset]:
        """Per alternative, the versions it leads in without being the first that was seen in them."""
        found: List[Set[int]] = [set() for _ in weights]
        for version in range(len(self.releases)):
            counts = [sum(weight.plain for weight in part if weight.version == version) for part in weights]
            seen = [number for number, part in enumerate(weights) if any(w.version == version for w in part)]
            if seen and max(counts) > counts[seen[0]]:
                found[counts.index(max(counts))].add(version)
        return [frozenset(part) for part in found]

    # ---- what the source text adds

    def read_source(self, tree: Tree) -> None:
        """Alternatives and members that no built model showed; they come last, and new members are optional."""
        version = frozenset([self.releases.index(tree.version)]) if tree.source else frozenset()
        for owner, name, sure, made in tree.source:
            cls = self.catalogue.classes.get(home(owner))
            path = tuple(name.split("."))
            if cls is None or not version <= cls.versions:
                continue
            added = []
            for child_name, own in made:
                child = self.catalogue.classes.get(home(child_name))
                if child is None:
                    continue
                telling = any(key in child.params and child.params[key].optional for key in ("weight", "bias"))
                added.append(Alternative(child.key, own if telling else None, version, ""))
            member = cls.members.get(path)
            if not added or len(added) < len(made) and member is None:
                continue
            if member is None:
                if len(path) == 1 or path[:1] in cls.members:
                    cls.members[path] = Member(Presence(1, version), added)
                continue
            if not sure and version <= member.presence.versions and not member.presence.optional:
                member = member._replace(presence=member.presence._replace(optional=1))
            if not version <= member.presence.versions:
                member = member._replace(presence=Presence(max(member.presence.optional, 1),
                                                           member.presence.versions | version))
            merged = [alternative for alternative in member.alternatives if alternative.key[0]]
            tables = [alternative for alternative in member.alternatives if not alternative.key[0]]
            for new in added:
                same = [i for i, old in enumerate(merged) if old.key == new.key and old.own == new.own]
                if same:
                    merged[same[0]] = merged[same[0]]._replace(versions=merged[same[0]].versions | version)
                elif new.own is None or all(old.key != new.key for old in merged):
                    merged.append(new)
            cls.members[path] = member._replace(alternatives=merged + tables)

    # ---- members of lists that differ by position

    def note_patterns(self, cls: Class, path: Tuple[str, ...], tree: Tree, found: List[Tuple[str, int, str]]) -> None:
        if len(found) < 2 or len({tree.nodes[node][0] for _, node, _ in found}) > 1 or tree.container(found[0][1]):
            return
        place = cls.key, ".".join(path)
        store = self.patterns.setdefault(place, {})
        self.samples.setdefault(place, (tree, found[0][1]))
        nodes = [node for _, node, _ in found]
        common = frozenset.intersection(*(tree.paths(node) for node in set(nodes)))
        for name in common:
            store[name] = "".join(sorted(set(store.get(name, "&")) & set("&")))
        for name in frozenset().union(*(tree.paths(node) for node in set(nodes))) - common:
            has = [name in tree.paths(node) for node in nodes]
            fit = set()
            for letter, shape in (("^", [True] + [False] * (len(has) - 1)), ("n", [False] + [True] * (len(has) - 1)),
                                  ("$", [False] * (len(has) - 1) + [True]), ("m", [True] * (len(has) - 1) + [False])):
                if has == shape:
                    fit.add(letter)
            store[name] = "".join(sorted(set(store.get(name, "^n$m")) & fit))

    def spread_patterns(self) -> None:
        """Keeps what is told by position in every list seen, topmost paths only; then the lists where each has it."""
        firsts: Set[str] = set()
        for (key, path), store in self.patterns.items():
            for name, kind in store.items():
                if name.rpartition(".")[2].isdigit() and not name.endswith(".0"):
                    continue        # how long a list is, is for the configuration to say
                if kind in ("^", "n", "$", "m") and not any(store.get(up) == kind for up in above(name)):
                    if kind == "^":
                        firsts.add(name)
                    self.catalogue.classes[key].positions[path, name] = kind
        for (key, path), store in self.patterns.items():
            for name in firsts & set(store):
                if store[name] == "&" and self.optional(*self.samples[key, path], name):
                    self.catalogue.classes[key].positions[path, name] = "&"

    def optional(self, tree: Tree, node: int, path: str) -> bool:
        """Whether the class at the end of a path can do without its last step; True where the sample has no such path.
        """
        *way, last = path.lstrip(".").split(".")
        for step in way:
            below = [kid for key, kid, _ in tree.nodes[node][3] if key == step]
            if not below:
                return True
            node = below[0]
        owner = self.catalogue.classes.get(tree.nodes[node][0])
        member = owner.members.get((last,)) if owner else None
        return member is not None and member.presence.optional == 2

    # ---- roots, families

    def mark_roots(self) -> None:
        for tree in self.trees:
            if tree.library == "activations":
                continue
            for root in tree.roots:
                cls = self.catalogue.classes.get(tree.nodes[root["node"]][0])
                if cls is None or cls.section == "torch.nn" and not root["auto"]:
                    continue
                cls.mark = "!" if root["auto"] or cls.mark == "!" else ":"

    def name_families(self) -> None:
        words: Dict[str, Set[str]] = collections.defaultdict(set)
        for tree in self.trees:
            for module, found in tree.words.items():
                words[module].update(word for word in found if word)
        for cls in self.catalogue.classes.values():
            if not cls.mark or cls.section == "torch.nn":
                continue
            known = [word for word in words[cls.section] if cls.name.startswith(word)]
            if not known:
                words[cls.section].add(family_word(cls))
        for cls in self.catalogue.classes.values():
            known = [word for word in words[cls.section] if cls.name.startswith(word)]
            if cls.mark and known:
                cls.word = max(known, key=len)
        for module, section in self.catalogue.sections.items():
            section.words = sorted(word for word in words[module]
                                   if any(cls.name.startswith(word) for cls in self.catalogue.classes.values()
                                          if cls.section == module))
            parts = section.alias.split(".")
            short = parts[1] if parts[0] == "tf" and len(parts) > 1 else f"{parts[0]}:{parts[-1]}"
            listed = short in POPULAR and section.words and not {"quantization", "video"} & set(parts)
            section.rank = POPULAR.index(short) + 1 if listed else 0

    def tables(self) -> None:
        for tree in self.trees:
            if tree.library != "activations":
                continue
            version = self.releases.index(tree.version)
            for root in tree.roots:
                self.catalogue.tables.setdefault("ACT", {}).setdefault(tree.nodes[root["node"]][0], set()).add(version)


def above(path: str) -> List[str]:
    """The paths a path lies below: a.b.c is below a and a.b; the parameter a.b.w is written so too."""
    parts = path.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def family_word(cls: Class) -> str:
    """FluxTransformer2DModel is of Flux, BridgeTowerForMaskedLM of BridgeTower; ResNet stays as it is."""
    if cls.section.startswith(("transformers", "diffusers")):
        for ending in (r"(Transformer)?[23]DModel$", r"For[A-Z]\w*$", r"Model$", r"(With|LM)[A-Z]\w*$"):
            cut = re.sub(ending, "", cls.name)
            if cut != cls.name and len(cut) > 1:
                return cut
    return cls.name
