//! What those did meanwhile that had what is waited for, or made it.

use super::*;

impl Group {
    /// Which threads others wait for, where threads of the waiters' own group end the waits.
    pub(super) fn whose(&self, names: &Names) -> Whose {
        let is_had =
            self.entry == EntryKind::WaitPermit && ["a ", "an "].iter().any(|a| self.what_for(names).starts_with(a));
        if is_had {
            Whose::Had
        } else {
            Whose::WaitedFor
        }
    }

    /// The same of threads that hand what they had to a helper. When they did, nobody
    /// says: they may have had it.
    pub(super) fn seen_by_helper(&self, names: &Names, helper: &Helper) -> Option<Others> {
        // Who waits for a result, each for another one, has nothing that others wait for.
        let for_results = self.many_locks || matches!(self.synchronizer, Synchronizer::Future | Synchronizer::Join);
        if for_results {
            return None;
        }
        self.seen(names, &helper.wakers, Whose::Perhaps)
    }

    /// What threads did that had what is waited for, or made it: of those that end
    /// such waits (`enders`), where their stacks say that it was that. `which` of the waiters'
    /// own threads it was.
    pub(super) fn seen(&self, names: &Names, enders: &[(TextId, PathId)], whose: Whose) -> Option<Others> {
        let own = self.own_groups(names);
        let is_own = |group: TextId| own.contains(names.text(group));
        let mut by_group = self.seen_by_group(names, enders, (whose, &is_own));
        let most = self.most_seen(&by_group, (whose, &is_own))?;
        // Of other groups it is not known when they had it.
        let is_alike = |group: &TextId| *group == most || is_own(most) && is_own(*group);
        let groups: Vec<TextId> = by_group.keys().copied().filter(is_alike).collect();
        let all_of =
            |of: fn(&Doings) -> u64| groups.iter().filter_map(|group| by_group.get(group)).map(of).sum::<u64>();
        let (seen_ns, samples) = (all_of(Doings::ns), all_of(Doings::samples));
        let mut doings = by_group.remove(&most)?;
        let (longest, ended) = (self.longest_ns(), self.ended_by_group().values().sum());
        let was_given = share(ended, self.total) >= MOST_OF;
        // Others may be idle for most of the time. Their own threads are looked at only while they have it: where that was
        // seldom, threads waited for something else, such as a permit that nobody returns.
        if !is_own(most) || share(seen_ns, longest) < OFTEN {
            doings.compare_with(longest);
        } else if !was_given {
            doings.reach(share(self.seen_elapsed, longest));
        }
        let is_seldom = is_own(most)
            && !was_given
            && self.entry == EntryKind::WaitPermit
            && samples >= FEW_SEEN
            && !doings.are_of_half();
        doings.reach(share(self.reached, self.total));
        let is_one_of_several = own.len() > 1;
        let own = is_own(most).then_some(whose);
        let part = share(doings.ns(), seen_ns);
        let among = (own.is_some() && part < ALONE).then_some((part, samples));
        if among.is_some() {
            doings.are_part(part);
        }
        let who = match own {
            Some(_) => Who::group(names.text(most), names.is_several(most)),
            None => named(most, names),
        };
        Some(Others { doings, who, own, is_one_of_several, groups, among, is_seldom, helper: None })
    }

    /// The group of which most was seen; one that ended many of the waits, if there is one.
    fn most_seen(
        &self,
        by_group: &FxHashMap<TextId, Doings>,
        (whose, is_own): (Whose, &impl Fn(TextId) -> bool),
    ) -> Option<TextId> {
        let seen: Vec<TextId> = ranked(by_group, Doings::ns).into_iter().map(|(group, _)| *group).collect();
        let own: Vec<TextId> = seen.iter().copied().filter(|group| is_own(*group)).collect();
        let is_of_many = |group: &&TextId| match is_own(**group) {
            true => self.is_of_many(&own),
            false => self.is_of_many(&[**group]),
        };
        let of_many = seen.iter().find(is_of_many).filter(|_| !matches!(whose, Whose::Last));
        of_many.or(seen.first()).copied()
    }

    /// The same by group; `is_own` where threads wait for it themselves.
    fn seen_by_group(
        &self,
        names: &Names,
        enders: &[(TextId, PathId)],
        (whose, is_own): (Whose, &impl Fn(TextId) -> bool),
    ) -> FxHashMap<TextId, Doings> {
        // Threads of each kind have it in a method in which they wait for it.
        let waits = ranked(&self.paths, |ns| *ns).into_iter().take(PATHS);
        let waits: Vec<_> = waits.map(|(path, _)| names.frames(*path)).collect();
        let mut doings: FxHashMap<TextId, Doings> = FxHashMap::default();
        for ((group, path), seen) in &self.meanwhile {
            let stack = names.frames(*path);
            let is_peer = is_own(*group);
            let common = enders.iter().filter(|(by, _)| by == group).map(|(_, ender)| {
                let waker = names.frames(*ender);
                let common = in_common(&waker, &stack);
                let had = || waits.iter().filter_map(|waits| had(&waker, waits, names)).max();
                match is_peer {
                    // Who has not come yet is anywhere but there.
                    true if matches!(whose, Whose::Last) => common,
                    true => had().filter(|had| common >= *had).unwrap_or(0),
                    false => common,
                }
            });
            let Some(common) = common.max().filter(|common| *common > 0) else { continue };
            // With the method that had it, if that is the application's.
            let within = (stack.len() - common + usize::from(is_peer)).max(1);
            let frames: Vec<String> = stack.iter().take(within).map(|frame| names.frame_text(*frame)).collect();
            if let Some(doing) = Doing::of(frames.iter().map(String::as_str), is_peer) {
                doings.entry(*group).or_default().add(doing, seen.ns, seen.count);
            }
        }
        doings
    }
}
