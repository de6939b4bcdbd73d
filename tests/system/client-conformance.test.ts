import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { clientScenarios, runClientScenario } from '#fixtures/conformance/client-suite';

/** What the suite asks of a client of each revision, without what is left out below. */
const played = [
  ['initialize', '2025-11-25'],
  ['tools_call', '2025-11-25'],
  ['elicitation-sep1034-client-defaults', '2025-11-25'],
  ['sse-retry', '2025-11-25'],
  ['json-schema-2020-12-preservation', '2025-11-25'],
  ['tools_call', '2026-07-28'],
  ['request-metadata', '2026-07-28'],
  ['sep-2322-client-request-state', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['http-custom-headers', '2026-07-28'],
  ['http-invalid-tool-headers', '2026-07-28'],
  ['json-schema-ref-no-deref', '2026-07-28'],
  ['json-schema-2020-12-preservation', '2026-07-28'],
] as const;

/** An extension that is for hosts: the hub neither loads skills nor checks what is in them. */
const ofHosts = [
  'sep-2640-client-no-prefetch',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
];
/** The hub has no credentials but the headers in a server's entry: it never asks for authorization. */
const ofAuthorization = [
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/2025-03-26-oauth-metadata-backcompat',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
  'auth/authorization-server-migration',
  'auth/iss-supported',
  'auth/iss-not-advertised',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/enterprise-managed-authorization',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/wif-jwt-bearer',
];

/** How many run at once: each has a hub, a client and a server. */
const atOnce = 2;

describe("the hub's outbound side", () => {
  const turn = createTurns(atOnce);

  test.concurrent.for(played)('passes %s of %s', { timeout: 240_000 }, ([scenario, revision]) =>
    turn(async () => {
      const { passed, problems, exitCode, output } = await runClientScenario(scenario, revision);
      assert.deepEqual(problems, [], output);
      assert.ok(passed > 0, output);
      assert.equal(exitCode, 0, output);
    }),
  );

  test('has been asked all that the suite has for clients', async () => {
    const names = await clientScenarios();
    const left = names.filter(name => !played.some(([scenario]) => scenario === name));
    assert.deepEqual(left.toSorted(), [...ofHosts, ...ofAuthorization].toSorted());
  });
});

/** Runs so many works at the same time, the others one after another when there is room. */
function createTurns(limit: number): (work: () => Promise<void>) => Promise<void> {
  const lanes = Array.from({ length: limit }, () => Promise.resolve());
  let next = 0;
  return work => {
    const lane = next++ % limit;
    const done = (lanes[lane] ?? Promise.resolve()).then(work);
    lanes[lane] = done.catch(() => {});
    return done;
  };
}
