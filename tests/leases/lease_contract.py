"""What every store of leases promises. Each adapter's tests inherit this class and bring a `world` with two clients of the same rows,
`world.store` and `world.other`.
"""

from __future__ import annotations

import asyncio

from shared.leases.port import NOBODY, Instance, ShareLease


class LeaseContract:
    async def test_a_lease_is_taken_once(self, world):
        """Of two that take the same lease one gets it, under the next epoch; the other sees whose it is."""
        unseen = ShareLease("TABLE_3", NOBODY, 0)
        taken = await asyncio.gather(world.store.take("one", unseen), world.other.take("two", unseen))
        (lease,) = [lease for lease in taken if lease is not None]
        assert (lease.name, lease.epoch) == ("TABLE_3", 1)
        assert await world.other.standing() == ([lease], [])

    async def test_a_lease_that_is_not_there_is_not_taken_as_if_it_were(self, world):
        """Nobody has had it, so that only who saw it so gets it, and epochs begin with one."""
        for seen in (ShareLease("TABLE_3", "one", 0), ShareLease("TABLE_3", NOBODY, 7), ShareLease("TABLE_3", NOBODY, 0, 2)):
            assert await world.store.take("two", seen) is None
        assert await world.other.standing() == ([], [])
        assert (await world.store.take("two", ShareLease("TABLE_3", NOBODY, 0))).epoch == 1

    async def test_a_lease_that_was_renewed_since_is_not_taken(self, world):
        """Whoever thinks that a holder is dead takes over what it saw, and nothing that has moved since."""
        lease = await world.store.take("one", ShareLease("TABLE_3", NOBODY, 0))
        assert await world.store.renew("one", ["TABLE_3"], {"TABLE_3": lease.epoch}) == {"TABLE_3"}
        assert await world.other.take("two", lease) is None
        ((renewed,), _) = await world.other.standing()
        assert (renewed.holder, renewed.epoch, renewed.renewals) == ("one", lease.epoch, lease.renewals + 1)
        taken = await world.other.take("two", renewed)
        assert (taken.holder, taken.epoch) == ("two", lease.epoch + 1)

    async def test_who_was_overtaken_learns_it(self, world):
        """The old epoch is neither renewed nor given back."""
        old = await world.store.take("one", ShareLease("TABLE_3", NOBODY, 0))
        new = await world.other.take("two", old)
        held = {"TABLE_3": old.epoch}
        assert await world.store.renew("one", ["TABLE_3"], held) == frozenset()
        await world.store.release(held)
        assert (await world.other.standing())[0] == [new]

    async def test_a_lease_that_was_given_back_is_free(self, world):
        """Nobody holds it, whoever had it does not renew it, and the next one gets the next epoch."""
        lease = await world.store.take("one", ShareLease("TABLE_3", NOBODY, 0))
        await world.store.release({"TABLE_3": lease.epoch})
        ((free,), _) = await world.other.standing()
        assert free.holder == NOBODY
        assert await world.store.renew("one", [], {"TABLE_3": lease.epoch}) == frozenset()
        assert (await world.other.take("two", free)).epoch == lease.epoch + 1

    async def test_instances_say_what_they_can(self, world):
        """Each sign of life counts on; one that has left is there no more."""
        await world.store.renew("one", ["TABLE_0", "TABLE_1"], {})
        await world.other.renew("two", ["TABLE_0"], {})
        await world.store.renew("one", ["TABLE_0", "TABLE_1"], {})
        _, instances = await world.other.standing()
        assert sorted(instances, key=lambda one: one.holder) == [
            Instance("one", ("TABLE_0", "TABLE_1"), 2),
            Instance("two", ("TABLE_0",), 1),
        ]
        await world.other.leave("one")
        assert [one.holder for one in (await world.store.standing())[1]] == ["two"]
