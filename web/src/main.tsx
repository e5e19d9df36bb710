import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { open } from "./data/open";
import { ServedSource } from "./data/served";
import { SourceContext } from "./state/asking";
import { follow } from "./state/live";
import { opened } from "./state/opened";
import { App } from "./view/App";

const place = document.getElementById("page")!;

open(document).then(
  (source) => {
    opened.value = source.opening;
    render(
      <SourceContext.Provider value={source}>
        <App />
      </SourceContext.Provider>,
      place,
    );
    if (source instanceof ServedSource) void follow(source);
  },
  (problem: unknown) => render(<p class="problem">This page cannot be shown: {String(problem)}</p>, place),
);
