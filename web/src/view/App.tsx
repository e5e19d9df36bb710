import { Component, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ALL_STACKS, PAGES, type PageName } from "../state/address";
import { Ended } from "../data/served";
import { useSource } from "../state/asking";
import { choose, theme } from "../state/theme";
import { address, problems, show, view } from "../state/view";
import { FilterBar } from "./FilterBar";
import { Arriving, First, Live, Over } from "./Live";
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
  steal: "Steal",
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
  return useSource().opening.recordings.length === 0 ? <Arriving /> : <Pages />;
}

function Pages() {
  const { opening } = useSource();
  const { page, recording } = view.value;
  const facts = opening.recordings[recording] ?? opening.recordings[0]!;
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
      <header>
        <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
          Skip to content
        </a>
        <strong class="brand">Headway</strong>
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a
              key={name}
              href={address({ ...ALL_STACKS, page: name, contention: null, mode: "", sort: "" })}
              aria-current={name === page ? "page" : undefined}
            >
              {TITLES[name]}
            </a>
          ))}
        </nav>
        <Recordings />
        <Live />
        <span class="file" title={facts.file}>
          {facts.file}
        </span>
        <button type="button" onClick={() => choose(theme.value === "dark" ? "light" : "dark")}>
          {theme.value === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <FilterBar />
      {/* Of two recordings it would show one. */}
      {page !== "compare" && (
        <Guard key={`timeline ${recording} ${beginning}`} quiet>
          <Timeline />
        </Guard>
      )}
      <main id="content" tabIndex={-1}>
        <h1 class="away">{TITLES[page]}</h1>
        <Problems />
        <First />
        <Over />
        <Guard key={`${page} ${recording} ${beginning}`}>{BODIES[page]()}</Guard>
      </main>
    </>
  );
}

/** What of the address cannot be shown. */
function Problems() {
  if (problems.value.length === 0) return null;
  return (
    <p class="card problem" role="alert">
      This address cannot be followed in full: {problems.value.join("; ")}.{" "}
      <button type="button" class="small" onClick={() => (problems.value = [])}>close</button>
    </p>
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

/** Keeps a broken part from taking the page with it. */
class Guard extends Component<{ children: ComponentChildren; quiet?: boolean }, { problem: string | null }> {
  override state = { problem: null };

  static override getDerivedStateFromError(problem: unknown) {
    return { problem: problem instanceof Ended ? problem.message : `This part cannot be shown: ${String(problem)}` };
  }

  override render() {
    if (this.state.problem && this.props.quiet) return null;
    return this.state.problem ? <p class="problem" role="alert">{this.state.problem}</p> : this.props.children;
  }
}
