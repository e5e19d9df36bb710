// Which call stacks are shown: those with and without methods, as the view says.
import { show, view } from "../state/view";

const TITLES = { focus: "only stacks with", drop: "only stacks without" } as const;

export function Narrowed() {
  const { focus, drop } = view.value;
  if (focus.length + drop.length === 0) return null;
  return (
    <div class="tabs" role="group" aria-label="Which call stacks">
      {(["focus", "drop"] as const).flatMap((list) =>
        view.value[list].map((method) => (
          <span key={`${list} ${method}`} class="chip">
            <span class="cut" title={method}>{TITLES[list]} <code>{method}</code></span>
            <button type="button" aria-label={`remove: ${TITLES[list]} ${method}`} onClick={() => show({ [list]: view.value[list].filter((one) => one !== method), zoom: "" })}>×</button>
          </span>
        )),
      )}
      <button type="button" class="small" onClick={() => show({ focus: [], drop: [], zoom: "" })}>all stacks</button>
    </div>
  );
}
