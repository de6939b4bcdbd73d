import { setTimeout as delay } from 'node:timers/promises';
import { type Child, freePort, runGroup } from '../child.ts';
import { type PeerName, peerArguments } from '../peers.ts';

const startMs = 30_000;
const pollMs = 50;

/** Starts a peer in front of a command, and waits until it answers over HTTP. */
export async function startPeer(
  name: PeerName,
  server: readonly string[],
): Promise<Child & { readonly url: string }> {
  const port = await freePort();
  const child = runGroup(process.execPath, peerArguments(name, port, server));
  const url = `http://127.0.0.1:${port}/mcp`;
  const until = performance.now() + startMs;
  while (!(await answers(url))) {
    if (performance.now() > until) {
      await child[Symbol.asyncDispose]();
      throw new Error(`${name} does not answer`);
    }
    await delay(pollMs);
  }
  return { ...child, url };
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).text();
    return true;
  } catch {
    return false;
  }
}
