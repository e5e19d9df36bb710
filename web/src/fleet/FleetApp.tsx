// The page of a store: many JVMs in one picture.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Guard } from "../view/Guard";
import { Header, Problems } from "../view/Header";
import { PAGES, type PageName } from "./address";
import type { FleetOpening } from "./contract";
import { Filters } from "./Filters";
import { Hosts } from "./Hosts";
import { Locks } from "./Locks";
import { Phases } from "./Phases";
import { Services } from "./Services";
import { Versions } from "./Versions";
import { address, problems, show, view } from "./view";

const TITLES: Record<PageName, string> = { services: "Services", locks: "Locks", versions: "Versions", hosts: "Hosts", phases: "Phases" };

const BODIES: Record<PageName, () => ComponentChildren> = {
  services: () => <Services />,
  locks: () => <Locks />,
  versions: () => <Versions />,
  hosts: () => <Hosts />,
  phases: () => <Phases />,
};

export function FleetApp({ opening: { store } }: { opening: FleetOpening }) {
  const { page } = view.value;
  useEffect(() => {
    document.title = `${store.split("/").at(-1) || store}: ${TITLES[page]} - Headway`;
  }, [store, page]);
  return (
    <>
      <Header pages={PAGES} titles={TITLES} current={page} hrefOf={(name) => address({ page: name })} file={store} />
      <Filters />
      <main id="content" tabIndex={-1}>
        <h1 class="away">{TITLES[page]}</h1>
        <Problems of={problems} drop={() => show({}, false)} />
        <Guard key={page}>{BODIES[page]()}</Guard>
      </main>
    </>
  );
}
