import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ALL_STACKS } from "../state/address";
import { useSource } from "../state/asking";
import { PAGES, type PageName } from "../state/pages";
import { address, problems, show, view } from "../state/view";
import { FilterBar } from "./FilterBar";
import { Guard } from "./Guard";
import { Header, Problems } from "./Header";
import { Arriving, First, Live, Over } from "./Live";
import { NotThere } from "./NotThere";
import { Timeline } from "./Timeline";
import { Compare } from "../page/Compare";
import { Incident } from "../page/Incident";
import { Locks } from "../page/Locks";
import { Overview } from "../page/Overview";
import { Parks } from "../page/Parks";
import { Profile } from "../page/Profile";
import { Steal } from "../page/Steal";
import { Threads } from "../page/Threads";
import { WaitFor } from "../page/WaitFor";

const TITLES: Record<PageName, string> = {
  overview: "Overview",
  incident: "Incident",
  locks: "Locks",
  waitfor: "Wait-for",
  profile: "CPU / wall",
  threads: "Threads",
  parks: "Parks",
  steal: "CPU shortage",
  compare: "Compare",
};

const BODIES: Record<PageName, () => ComponentChildren> = {
  overview: () => <Overview />,
  incident: () => <Incident />,
  locks: () => <Locks />,
  waitfor: () => <WaitFor />,
  profile: () => <Profile />,
  threads: () => <Threads />,
  parks: () => <Parks />,
  steal: () => <Steal />,
  compare: () => <Compare />,
};

/** The page, or until anything is known of its recordings, how far they were read. */
export function App() {
  const { recordings } = useSource().opening;
  if (recordings.length === 0) return <Arriving />;
  return view.value.recording < recordings.length ? <Pages /> : <NoSecond />;
}

/** The address is of a comparison, and one of its recordings is here. */
function NoSecond() {
  return (
    <main>
      <p class="card problem" role="alert">
        The address names a second recording, and there is one here. <button type="button" class="small" onClick={() => show({ recording: 0 })}>drop it</button>
      </p>
    </main>
  );
}

function Pages() {
  const { opening } = useSource();
  const { page, recording } = view.value;
  const facts = opening.recordings[recording]!;
  const isOpenedToCompare = opening.recordings.length === 2 && location.hash === "";
  useEffect(() => {
    if (isOpenedToCompare) show({ page: "compare" }, false);
  }, []);
  // What is shown with ids of another beginning must not stay.
  const beginning = opening.live?.beginning ?? 0;
  useEffect(() => {
    // What differs comes first: tabs are narrow.
    document.title = `${facts.file.split("/").at(-1)}: ${TITLES[page]} - Headway`;
  }, [facts.file, page]);
  return (
    <>
      <Header pages={PAGES} titles={TITLES} current={page} hrefOf={(name) => address({ ...ALL_STACKS, page: name, contention: null })} file={facts.file}>
        <Recordings />
        <Live />
      </Header>
      <FilterBar />
      {/* Of two recordings it would show one. */}
      {page !== "compare" && (
        <Guard key={`timeline ${recording} ${beginning}`} quiet>
          <Timeline />
        </Guard>
      )}
      <main id="content" tabIndex={-1}>
        <h1 class="away">{TITLES[page]}</h1>
        <Problems of={problems} drop={() => show({}, false)} />
        <First />
        <Over />
        <Guard key={`address ${recording} ${beginning}`} quiet>
          <NotThere />
        </Guard>
        <Guard key={`${page} ${recording} ${beginning}`}>{BODIES[page]()}</Guard>
      </main>
    </>
  );
}

function Recordings() {
  const { opening } = useSource();
  if (opening.recordings.length < 2 || view.value.page === "compare") return null;
  return (
    <select
      aria-label="Recording"
      value={view.value.recording}
      onChange={(event) => show({ recording: Number(event.currentTarget.value), pick: [], open: [], contention: null })}
    >
      <option value={0}>before</option>
      <option value={1}>after</option>
    </select>
  );
}
