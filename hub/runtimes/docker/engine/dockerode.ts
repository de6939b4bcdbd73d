import { Module, createRequire } from 'node:module';
import type Dockerode from 'dockerode';

/**
 * Modules of dockerode that the hub does not need: BuildKit sessions (gRPC) and engines over ssh (ssh2, whose
 * WebAssembly cipher takes 16 MB of address space). They are two thirds of the load time of dockerode.
 */
const unused = ['./session', 'docker-modem/lib/ssh'];

/** Loads dockerode with the unused modules replaced by functions that throw (decisions/0007). */
export async function loadDockerode(): Promise<typeof Dockerode> {
  const { cache, resolve } = createRequire(createRequire(import.meta.url).resolve('dockerode'));
  for (const part of unused) {
    const path = resolve(part);
    const left = new Module(path);
    left.loaded = true;
    left.exports = () => {
      throw new Error(`${part} of dockerode is not loaded in the hub`);
    };
    cache[path] ??= left;
  }
  return (await import('dockerode')).default;
}
