// The one view of recordings.
import { fromAddress, toAddress, type View } from "./address";
import { following } from "./following";

export const { view, problems, show } = following<View>(fromAddress, toAddress);

/** The address of a changed view, for links. */
export function address(change: Partial<View>): string {
  return toAddress({ ...view.value, ...change });
}
