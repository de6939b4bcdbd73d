import { type Event, createEmitter } from '#core';
import type { LaunchSpec } from '#runtimes';
import type { Address } from './address.ts';

/** What an engine says about itself. */
export type EngineVersion = {
  readonly version: string;
  readonly os: string;
  /** The name of the product, where it is more than an engine: `Docker Desktop 4.48.0 (207573)`. */
  readonly product: string;
  readonly kernel: string;
};

/** What lets containers connect to ports on the loopback interface of the hub's machine. */
export interface Exposure {
  /** The product that forwards such connections; undefined where the engine does not, or is not known yet. */
  readonly forwarder: string | undefined;
  /** A server that this run of the hub has launched, or built, with a network; undefined where none was. */
  readonly networked: string | undefined;
  readonly changed: Event<void>;
}

type Recorder = Exposure & {
  /** Whether an engine has said what it is. */
  readonly isKnown: boolean;
  learn(version: EngineVersion): void;
  /** Called before anything of a launch runs. */
  launching(spec: LaunchSpec): void;
};

export function createExposure(address: Address, platform: string): Recorder {
  const { event: changed, fire } = createEmitter<void>();
  let isKnown = false;
  let forwarder: string | undefined;
  let networked: string | undefined;
  return {
    changed,
    get isKnown() {
      return isKnown;
    },
    get forwarder() {
      return forwarder;
    },
    get networked() {
      return networked;
    },
    learn(version) {
      const found = forwarderOf(version, address, platform);
      const isNew = found !== forwarder;
      isKnown = true;
      forwarder = found;
      if (isNew) fire();
    },
    launching({ server, target }) {
      if (networked !== undefined || target.kind !== 'docker') return;
      if (target.network !== 'bridge' && !('package' in target.image)) return;
      networked = server;
      fire();
    },
  };
}

/** Products whose containers reach the loopback interface of the machine as host.docker.internal. */
const products: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Docker Desktop', /Docker Desktop|linuxkit/i],
  ['OrbStack', /orbstack/i],
  ['Colima', /\/\.colima\//],
  ['Lima', /\/\.lima\/|[-/]lima[-/]/],
  ['Rancher Desktop', /Rancher Desktop|\/\.rd\//i],
];

/**
 * The product that forwards connections of containers to the loopback interface of the hub's machine. On Linux a
 * plain engine does not: rootless engines switch it off unless told otherwise (rootlesskit, --disable-host-loopback). On
 * other systems every local engine is in a virtual machine, whose networks forward as a rule.
 */
export function forwarderOf(
  { product, kernel }: Pick<EngineVersion, 'product' | 'kernel'>,
  { text, connect }: Address,
  platform: string,
): string | undefined {
  for (const [name, sign] of products)
    if (sign.test(product) || sign.test(kernel) || sign.test(text)) return name;
  return platform !== 'linux' && 'socketPath' in connect ? 'the engine of this machine' : undefined;
}
