// The one view of a store.
import { following } from "../state/following";
import { fromAddress, toAddress, type FleetView } from "./address";
import type { Only } from "./contract";

export const { view, problems, show } = following<FleetView>(fromAddress, toAddress);

/** Changes which rows count. */
export function narrow(change: Partial<Only>): void {
  show({ only: { ...view.value.only, ...change }, pick: [], pair: 0 });
}

/** The address of a page with a changed filter, for links. */
export function address(change: Partial<FleetView>, only: Partial<Only> = {}): string {
  return toAddress({ ...view.value, sort: "", pick: [], mode: "", pair: 0, ...change, only: { ...view.value.only, ...only } });
}
