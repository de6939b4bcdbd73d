import { createEmitter } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import type { Address } from './engine/address.ts';

type EngineVersion = {
  /** Product that contains the engine, such as `Docker Desktop 4.48.0 (207573)`. Empty for a plain engine. */
  readonly product: string;
  readonly kernel: string;
};

export type Exposure = Pick<
  ReturnType<typeof createExposure>,
  'forwarder' | 'networked' | 'changed'
>;

/** Determines if containers can connect to the loopback interface of the hub's machine. */
export function createExposure(address: Address, platform: string) {
  const { event: changed, fire } = createEmitter<void>();
  let isKnown = false;
  let forwarder: string | undefined;
  let networked: string | undefined;
  return {
    changed,
    get isKnown() {
      return isKnown;
    },
    /**
     * Product that forwards connections of containers to the hub's loopback interface. Undefined if none does, or
     * before the engine has answered.
     */
    get forwarder() {
      return forwarder;
    },
    /** Name of a server with a network that this run of the hub has launched or built, if any. */
    get networked() {
      return networked;
    },
    learn(version: EngineVersion): void {
      const found = forwarderOf(version, address, platform);
      const isNew = found !== forwarder;
      isKnown = true;
      forwarder = found;
      if (isNew) fire();
    },
    /** Records a launch. Must be called before any code of the server runs, also in a build, which has a network. */
    launching({ server, target }: LaunchSpec): void {
      if (networked !== undefined || target.kind !== 'docker') return;
      if (target.network !== 'bridge' && !isBuilt(target)) return;
      networked = server;
      fire();
    },
  };
}

/** True if a build makes the image, as its steps run code of the server. */
export const isBuilt = ({ image }: Pick<DockerTarget, 'image'>): boolean =>
  'package' in image || 'build' in image || image.systemPackages !== undefined;

/** Products whose containers reach the loopback interface of the host as host.docker.internal. */
const products: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Docker Desktop', /Docker Desktop|linuxkit/i],
  ['OrbStack', /orbstack/i],
  ['Colima', /\/\.colima\//],
  ['Lima', /\/\.lima\/|[-/]lima[-/]/],
  ['Rancher Desktop', /Rancher Desktop|\/\.rd\//i],
];

/**
 * Returns the product that forwards connections of containers to the loopback interface of the hub's machine. A plain
 * engine on Linux does not: rootless engines disable it by default (rootlesskit, --disable-host-loopback). On other
 * systems every local engine runs in a virtual machine, which usually forwards.
 */
export function forwarderOf(
  { product, kernel }: EngineVersion,
  { text, connect }: Address,
  platform: string,
): string | undefined {
  for (const [name, sign] of products)
    if (sign.test(product) || sign.test(kernel) || sign.test(text)) return name;
  return platform !== 'linux' && 'socketPath' in connect ? 'the engine of this machine' : undefined;
}
