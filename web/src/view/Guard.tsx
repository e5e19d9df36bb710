import { Component, type ComponentChildren } from "preact";
import { Ended } from "../data/served";

/** Keeps a broken part from taking the page with it. */
export class Guard extends Component<{ children: ComponentChildren; quiet?: boolean }, { problem: string | null }> {
  override state = { problem: null };

  static override getDerivedStateFromError(problem: unknown) {
    return { problem: problem instanceof Ended ? problem.message : `This part cannot be shown: ${String(problem)}` };
  }

  override render() {
    if (this.state.problem && this.props.quiet) return null;
    return this.state.problem ? <p class="problem" role="alert">{this.state.problem}</p> : this.props.children;
  }
}
