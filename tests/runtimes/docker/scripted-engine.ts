import { systemClock } from '#core';
import { parseAddress } from '../../../hub/runtimes/docker/engine/address.ts';
import { createEngine } from '../../../hub/runtimes/docker/engine/engine.ts';
import { startEngine } from '../../doubles/engine.ts';

type EngineCall = {
  /** Method and path, such as `GET /version`. */
  readonly call: string;
  readonly query: Readonly<Record<string, string>>;
  /** Parsed body; undefined for a call without a body. */
  readonly body: unknown;
};

/** Answer to a call. A `body` that is a string is sent unchanged, such as the lines of a stream. */
export type Scripted = { readonly status?: number; readonly body?: unknown };
type Script = Readonly<
  Record<string, Scripted | ((call: EngineCall) => Scripted | Promise<Scripted>)>
>;

const absent: Scripted = { status: 404, body: { message: 'No such object' } };

/** Creates a client of an engine that answers calls by a script of methods and paths, and all other calls with 404. */
export async function scriptEngine(script: Script, clock = systemClock) {
  const calls: EngineCall[] = [];
  const double = await startEngine(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://engine');
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const isJson = request.headers['content-type'] === 'application/json';
    const call = {
      call: `${request.method} ${url.pathname}`,
      query: Object.fromEntries(url.searchParams),
      body: text === '' ? undefined : isJson ? JSON.parse(text) : text,
    };
    calls.push(call);
    const scripted = script[call.call] ?? absent;
    const { status = 200, body } = typeof scripted === 'function' ? await scripted(call) : scripted;
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const host = `unix://${double.socketPath}`;
  return {
    host,
    engine: createEngine(parseAddress(host), clock),
    calls,
    /** Returns the methods and paths of the calls so far. */
    lines: () => calls.map(({ call }) => call),
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  };
}

/** Returns the description of a container, as the engine sends it. */
export const containerInfo = (
  id: string,
  name: string,
  labels: Readonly<Record<string, string>>,
  state: object = {},
) => ({
  Id: id,
  Name: `/${name}`,
  Image: 'sha256:1',
  Config: { Image: 'node:24', Labels: labels },
  State: { Running: true, StartedAt: 'then', ExitCode: 0, OOMKilled: false, ...state },
});
