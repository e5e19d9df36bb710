// The one view of recordings.
import { fromAddress, toAddress, type View } from "./address";
import { following } from "./following";

export const { view, problems, show } = following<View>(fromAddress, toAddress);

/** What is about one page only. */
const OWN = { mode: "", sort: "", search: "" } satisfies Partial<View>;

/** The address of a changed view, for links; another page begins without the choices that were made on this one. */
export function address(change: Partial<View>): string {
  return toAddress({ ...view.value, ...(change.page === undefined ? {} : OWN), ...change });
}
