import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { open } from "./data/open";
import { ServedSource } from "./data/served";
import { FleetApp } from "./fleet/FleetApp";
import { openingOf } from "./fleet/source";
import { SourceContext } from "./state/asking";
import { follow } from "./state/live";
import { opened } from "./state/opened";
import { App } from "./view/App";

const place = document.getElementById("page")!;

async function start(): Promise<void> {
  const fleet = openingOf(document);
  if (fleet) return render(<FleetApp opening={fleet} />, place);
  const source = await open(document);
  opened.value = source.opening;
  render(
    <SourceContext.Provider value={source}>
      <App />
    </SourceContext.Provider>,
    place,
  );
  if (source instanceof ServedSource) void follow(source);
}

start().catch((problem: unknown) => render(<p class="problem">This page cannot be shown: {String(problem)}</p>, place));
