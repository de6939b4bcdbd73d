import type { Event } from '#core';

type Switch = {
  readonly isOn: () => boolean;
  /** Fires when it may have been turned on or off. */
  readonly changed: Event<unknown>;
};

/** Calls `turned` whenever something is turned on or off. */
export function whenTurned({ isOn, changed }: Switch, turned: () => void): void {
  let wasOn = isOn();
  changed(() => {
    if (isOn() === wasOn) return;
    wasOn = !wasOn;
    turned();
  });
}
