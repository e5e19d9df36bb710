// Finds out where this page has its data from.
import type { Opening } from "./contract";
import { EmbeddedSource } from "./embedded";
import { ServedSource } from "./served";
import type { Source } from "./source";

export async function open(page: Document): Promise<Source> {
  const opening = page.getElementById("headway-opening")?.textContent;
  if (opening) return new ServedSource(JSON.parse(opening) as Opening);
  const elements = [...page.querySelectorAll("script.headway-recording")];
  if (elements.length === 0) throw new Error("this page holds no recording: make one with headway report FILE -o report.html");
  const packed = elements.map((element) => {
    const text = element.textContent ?? "";
    element.remove(); // once unpacked it only takes memory
    return text;
  });
  return EmbeddedSource.unpack(packed, "");
}
