import type { Event } from '#core';

type Switch = {
  readonly isOn: () => boolean;
  /** Fires when `isOn` may have changed. */
  readonly changed: Event<unknown>;
};

/** Calls `turned` whenever `isOn` changes. */
export function whenTurned({ isOn, changed }: Switch, turned: () => void): void {
  let wasOn = isOn();
  changed(() => {
    if (isOn() === wasOn) return;
    wasOn = !wasOn;
    turned();
  });
}
