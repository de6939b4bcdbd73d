import type { Duplex } from 'node:stream';
import { type Clock, DeadlineExceeded, HubError, type Log, messageOf, sleep, within } from '#core';
import { createDemux } from '../container/attach.ts';
import type { Engine } from '../engine/engine.ts';
import { EngineError } from '../engine/errors.ts';
import {
  type HubPlaces,
  type Member,
  type Traffic,
  createReportReader,
  stateLine,
} from './protocol.ts';

type Needs = {
  readonly engine: Pick<
    Engine,
    'attach' | 'startContainer' | 'removeContainer' | 'connectNetwork' | 'version'
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** Name of the forwarder's container. */
  readonly name: string;
  /** Returns the forwarder's container, which may be running already. */
  readonly provide: (
    signal: AbortSignal,
  ) => Promise<{ readonly id: string; readonly isRunning: boolean }>;
  /** The servers, by the names of their networks. */
  readonly members: ReadonlyMap<string, Member>;
  readonly hubPlaces: () => Promise<HubPlaces>;
  readonly heard: (traffic: Traffic) => void;
};

/** Maximum time until the forwarder has applied a new state, in ms. */
const applyMs = 10_000;
/** Interval between checks of a running forwarder, in ms. */
const checkMs = 15_000;
/** Number of consecutive checks without an answer after which a forwarder is replaced. */
const maxMisses = 3;
const maxAttempts = 5;
/** Time for which a forwarder of an earlier run keeps the lists of servers that are not adopted yet, in ms. */
const takeoverMs = 60_000;
const firstRetryMs = 200;
const lastRetryMs = 5_000;

/** A running forwarder: its container id and the connection to its standard streams. */
type Running = { readonly id: string; readonly socket: Duplex };

export function createForwarder(needs: Needs) {
  const { engine, clock, log, members } = needs;
  const stopping = new AbortController();
  let opening: Promise<Running> | undefined;
  let number = 0;
  /** Monotonic time in ms until which the forwarder keeps the lists of servers that it is not told. */
  let keepsUntilMs = -Infinity;
  /** Promises of states that are sent but not yet applied, by state number. */
  const waiting = new Map<number, PromiseWithResolvers<void>>();

  function open(): Promise<Running> {
    opening ??= openNow().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  async function openNow(): Promise<Running> {
    const { id, isRunning } = await needs.provide(stopping.signal);
    if (isRunning) keepsUntilMs = clock.monotonic() + takeoverMs;
    const socket = await attach(id);
    const running = { id, socket };
    const reader = createReportReader(report => {
      if ('traffic' in report) needs.heard(report.traffic);
      else waiting.get(report.applied)?.resolve();
    });
    const demux = createDemux({
      stdout: chunk => reader.push(chunk),
      stderr: chunk =>
        log.warn({ stderr: chunk.toString() }, 'the forwarder of the network wrote to stderr'),
      broken: detail => void socket.destroy(new Error(detail)),
    });
    socket.on('data', (chunk: Buffer) => demux.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => void ended(running));
    socket.on('end', () => socket.destroy());
    try {
      if (!isRunning) await engine.startContainer(id, stopping.signal);
      // Ends a line that an earlier run may have left incomplete.
      else socket.write('\n');
      await Promise.all(Array.from(members, ([network, member]) => connect(network, member)));
      await apply(running);
    } catch (error) {
      socket.destroy();
      // A new container may only need longer to start; the next attempt finds it running.
      if (isRunning && error instanceof Silent) await remove(id);
      throw error;
    }
    void supervise(running);
    log.info({ isRunning, networks: members.size }, 'servers reach the network by a forwarder');
    return running;
  }

  /** Connects to a container. Removes it if it is paused: the engine refuses to attach to paused containers. */
  async function attach(id: string): Promise<Duplex> {
    try {
      return await engine.attach(id);
    } catch (error) {
      if (!(error instanceof EngineError && /is paused/.test(error.words))) throw error;
      await remove(id);
      throw new Gone();
    }
  }

  /** Checks a forwarder while it is connected, and removes it if it stops answering. `ended` then starts another. */
  async function supervise(running: Running): Promise<void> {
    for (let misses = 0; misses < maxMisses;) {
      await sleep(checkMs, { clock, signal: stopping.signal });
      if (running.socket.destroyed || stopping.signal.aborted) return;
      try {
        await apply(running);
        misses = 0;
      } catch (error) {
        log.debug({ misses, problem: messageOf(error) }, 'a check of the forwarder failed');
        if (error instanceof Silent) misses++;
      }
    }
    await remove(running.id);
    running.socket.destroy();
  }

  /** Removes a forwarder that does not answer. Never rejects. */
  async function remove(id: string): Promise<void> {
    log.warn(
      { container: needs.name },
      'the forwarder of the network does not answer; removing it',
    );
    try {
      await engine.removeContainer(id);
    } catch (error) {
      log.warn({ problem: messageOf(error) }, 'the forwarder of the network could not be removed');
    }
  }

  /** Starts the forwarder again, or reconnects to it if only the connection has ended. */
  async function ended(running: Running): Promise<void> {
    for (const { reject } of waiting.values()) reject(new Gone());
    const current = await opening?.catch(() => undefined); // The caller that opens the forwarder reports it.
    if (stopping.signal.aborted || current !== running) return;
    opening = undefined;
    log.warn({}, 'the forwarder of the network ended or cannot be heard; starting it again');
    let retryMs = firstRetryMs;
    while (members.size > 0 && !stopping.signal.aborted) {
      try {
        await open();
        return;
      } catch (error) {
        log.warn({ problem: messageOf(error) }, 'the forwarder of the network did not start');
      }
      await sleep(retryMs, { clock, signal: stopping.signal });
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
  }

  async function connect(network: string, { subnet }: Member): Promise<void> {
    try {
      await engine.connectNetwork(network, needs.name, subnet.forwarder);
    } catch (error) {
      // The forwarder is in the network already.
      if (!(error instanceof EngineError) || !/already exists/.test(error.words)) throw error;
    }
  }

  /**
   * Sends the whole state to the forwarder, and resolves when it is applied. Rejects with Silent if the forwarder does
   * not answer, and with the error of the engine if that does not answer either.
   */
  async function apply({ socket }: Running): Promise<void> {
    const places = await needs.hubPlaces();
    if (socket.destroyed) throw new Gone();
    const own = ++number;
    const applied = Promise.withResolvers<void>();
    waiting.set(own, applied);
    try {
      const keepsOthers = clock.monotonic() < keepsUntilMs;
      socket.write(stateLine(own, members.values(), places, keepsOthers));
      await within(applyMs, { clock }, () => applied.promise);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      // The messages pass through the engine. If it hangs, the forwarder may still serve its servers.
      await engine.version({ timeoutMs: applyMs, signal: stopping.signal });
      throw new Silent(needs.name, error);
    } finally {
      waiting.delete(own);
    }
  }

  return {
    /**
     * Adds the forwarder to the network of a server, which is in `members` already. Starts the forwarder if necessary.
     */
    async join(network: string, member: Member): Promise<void> {
      for (let attempt = 1; ; attempt++) {
        const opened = open();
        try {
          const running = await opened;
          await connect(network, member);
          return await apply(running);
        } catch (error) {
          // The forwarder may end at any time, and one of an earlier run may be removed while it is adopted.
          if (attempt === maxAttempts || !isPassing(error)) throw error;
          // Another server may already be opening the next forwarder.
          if (opening === opened) opening = undefined;
          await sleep(firstRetryMs * attempt, { clock, signal: stopping.signal });
        }
      }
    },
    /** Sends the changed members to the forwarder if it runs. If not, it gets them when it starts. */
    async refresh(): Promise<void> {
      const running = await opening?.catch(() => undefined); // The caller that opens the forwarder reports it.
      if (running) await apply(running);
    },
    /** Disconnects from the container, which the caller removes. The forwarder is not started again. */
    async stop(): Promise<void> {
      stopping.abort();
      const running = await opening?.catch(() => undefined); // The forwarder does not run.
      running?.socket.destroy();
    },
  };
}

/** Error of calls whose connection to the forwarder has ended. */
class Gone extends HubError {
  constructor() {
    const data = { retryable: true };
    super('HUB_ENGINE_REFUSED', 'the forwarder of the network ended', { data });
  }
}

/** Error of calls that the forwarder did not answer in time, although the engine answers. */
class Silent extends HubError {
  constructor(name: string, cause: DeadlineExceeded) {
    super(
      'HUB_ENGINE_REFUSED',
      `the forwarder of the network did not answer within ${applyMs / 1000} s. The hub replaces it if it stays silent. To replace it now: docker rm -f ${name}`,
      { cause, data: { retryable: true } },
    );
  }
}

/** True if a retry may succeed: the forwarder ended, or something created it after this hub had looked for it. */
const isPassing = (error: unknown): boolean =>
  error instanceof Gone ||
  (error instanceof EngineError &&
    /marked for removal|no such container|is not running|already exists|already in use/i.test(
      error.words,
    ));
