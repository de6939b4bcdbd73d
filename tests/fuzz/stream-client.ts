import assert from 'node:assert/strict';
import {
  encode,
  expectedOf,
  expectedOnWire,
  idOf,
  introduction,
  readOne,
  replyTo,
} from './expected.ts';
import type { Made } from './generate.ts';
import { replay } from './settings.ts';
import type { OpenWireClient } from './wire-client.ts';
import type { OpenWire } from './wires.ts';

/** Counts of an id: answers that are due, answers that may come, and answers received. */
type Count = { due: number; may: number; came: number };

/** Maximum number of unanswered requests before the client waits. */
const maxUnanswered = 64;
/** Number of messages sent in a row. */
const burst = 32;
/** Time in ms for which no answer may arrive while one is due. */
const patienceMs = 60_000;
/** Number of recent messages that a failure prints. */
const shown = 128;

/** Opens a client on a bidirectional transport, which sends further messages without waiting for answers. */
export const streamClient =
  (openWire: OpenWire): OpenWireClient =>
  async (hub, server, { speaker, check, generator }) => {
    const counts = new Map<string, Count>();
    /** Texts that the answers to valid calls must contain, by their ids. */
    const echoes = new Map<string, string>();
    const sent: Buffer[] = [];
    let unanswered = 0;
    let came = 0;
    let failure: unknown;
    let wake: (() => void) | undefined;
    let isClosed = false;

    const fail = (why: string): never =>
      assert.fail(`${why}: ${replay()}\n${sent.map(bytes => replay(bytes)).join('\n')}`);

    function countOf(id: string): Count {
      const known = counts.get(id);
      if (known) return known;
      const count = { due: 0, may: 0, came: 0 };
      counts.set(id, count);
      return count;
    }

    function answered(id: string, bytes: Buffer): void {
      const count = countOf(id);
      came++;
      if (++count.came <= count.due) unanswered--;
      if (count.came > count.due + count.may)
        fail(`${count.came} answers to ${id}, of which ${count.due} were due`);
      const echo = echoes.get(id);
      if (echo !== undefined && !bytes.includes(echo))
        fail(`${id} was given what is not its answer, ${bytes.toString()}`);
    }

    function asked(id: string): void {
      // A real client answers asynchronously, after the request.
      setImmediate(() => {
        if (isClosed) return;
        const reply = generator.reply(speaker, id);
        if (reply) say(reply);
        say(replyTo(id, speaker));
      });
    }

    function received(bytes: Buffer): void {
      if (isClosed) return;
      try {
        check(bytes);
        const message = readOne(bytes);
        if (message.kind === 'answer') answered(idOf(message), bytes);
        if (message.kind === 'request') asked(idOf(message));
      } catch (error) {
        failure ??= error;
      }
      wake?.();
    }

    const wire = await openWire(hub, server, received);

    function say(bytes: Buffer): void {
      for (const frame of wire.framesOf(bytes)) {
        const { must, may } = expectedOnWire(frame);
        for (const id of must) {
          const count = countOf(id);
          if (++count.due > count.came) unanswered++;
        }
        for (const id of may) countOf(id).may++;
      }
      sent.push(bytes);
      if (sent.length > shown) sent.shift();
      wire.send(bytes);
    }

    function sayMade({ bytes, echoes: echo }: Made): void {
      if (echo !== undefined) {
        const [id] = expectedOf(bytes).must;
        if (id !== undefined) echoes.set(id, echo);
      }
      say(bytes);
    }

    const missing = () =>
      [...counts].filter(([, count]) => count.came < count.due).map(([id]) => id);

    /** Waits until at most this number of requests is unanswered. */
    async function answeredBut(most: number): Promise<void> {
      let last = came;
      let until = Date.now() + patienceMs;
      while (unanswered > most && failure === undefined) {
        if (Date.now() >= until) fail(`no answer to ${missing().join()}`);
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer = setTimeout(resolve, patienceMs);
        await promise;
        clearTimeout(timer);
        if (came === last) continue;
        last = came;
        until = Date.now() + patienceMs;
      }
      wake = undefined;
      if (failure !== undefined) throw failure;
    }

    say(encode('open', 'initialize', introduction));
    await answeredBut(0);
    return {
      async send(count) {
        for (let left = count; left > 0; left -= burst) {
          await answeredBut(maxUnanswered);
          for (let one = Math.min(burst, left); one > 0; one--) sayMade(generator.message(speaker));
        }
      },
      async settle() {
        await answeredBut(0);
        // Duplicate answers would arrive before the answer to this ping.
        say(encode(`barrier ${came}`, 'ping'));
        await answeredBut(0);
      },
      close() {
        isClosed = true;
        wire.close();
      },
    };
  };
