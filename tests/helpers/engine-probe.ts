import { request } from 'node:http';

const probeMs = 5_000;

/** Where the tests look for a Docker engine: DOCKER_HOST, or the socket that every engine has. */
export const engineHost = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';

/** AGENTHUB_REQUIRE_ENGINE=1 makes an absent engine a failure: CI has one and may skip nothing. */
export const engineRequired = process.env['AGENTHUB_REQUIRE_ENGINE'] === '1';

/** Why no test that needs an engine can run, as a clause; undefined where an engine answers. */
export async function probeEngine(host = engineHost): Promise<string | undefined> {
  const answer = await ping(host);
  return answer === 'OK' ? undefined : `no Docker engine answers at ${host}: ${answer}`;
}

/** OK, or why the engine's ping was not answered. */
function ping(host: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const at = host.startsWith('unix://')
    ? { socketPath: host.slice('unix://'.length) }
    : { hostname: new URL(host).hostname, port: new URL(host).port || '2375' };
  const asked = request({ ...at, path: '/_ping', timeout: probeMs }, answer => {
    answer.resume();
    resolve(answer.statusCode === 200 ? 'OK' : `status ${answer.statusCode ?? 'unknown'}`);
  });
  asked.on('timeout', () => asked.destroy(new Error(`no answer within ${probeMs} ms`)));
  asked.on('error', error => resolve(error.message));
  asked.end();
  return promise;
}
