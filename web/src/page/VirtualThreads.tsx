import type { Facts, Pin } from "../data/contract";
import { count, duration, percent, times } from "../text/units";
import { FactList } from "../view/Facts";

/** Virtual threads of the whole recording: from unpark to running, carriers, pins. */
export function VirtualThreads({ facts }: { facts: Facts }) {
  const found = facts.virtualThreads;
  if (!found) return null;
  const rows: [string, string][] = [
    ["mount delay", found.mounts > 0 ? `${duration(found.mountDelayNs)} in ${times(found.mounts, "mount")}, the longest ${duration(found.maxMountDelayNs)}` : ""],
    ["waiting for a carrier", found.mounts > 0 ? duration(found.waitingForCarrierNs) : ""],
    ["waiting for a CPU", found.mounts > 0 ? duration(found.waitingForCpuNs) : ""],
    ["carriers", found.occupancy === null ? count(found.carriers) : `${count(found.carriers)}, occupied ${percent(found.occupancy)} of the time`],
    ["pinned", found.pinned > 0 ? `${times(found.pinned, "time")}, ${duration(found.pinnedNs)}` : "never"],
  ];
  return (
    <section class="card">
      <h2>Virtual threads</h2>
      <FactList rows={rows} />
      {found.pins.map((pin, place) => (
        <p key={place}>
          {duration(pin.totalNs)} in <code>{pin.method}</code> ({times(pin.count, "time")}), {pinnedBy(pin)}
        </p>
      ))}
    </section>
  );
}

function pinnedBy(pin: Pin) {
  if (!pin.frame) return "pinned by a synchronized block or the VM: which frame is not known";
  return (
    <>
      pinned by <code>{pin.frame}</code> ({pin.reason})
    </>
  );
}
