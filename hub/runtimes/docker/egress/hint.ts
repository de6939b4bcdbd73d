import type { LaunchEvents, LaunchSpec } from '#runtimes';

/** Messages of programs that fail to look up a name or to connect without the proxy. */
const signs =
  /\b(?:ENETUNREACH|EAI_AGAIN)\b|getaddrinfo|Network is unreachable|Temporary failure in name resolution|Could not resolve host|Name or service not known/i;

/** Messages of programs without any network. `fetch` of Node names no cause in its message. */
const networkSigns = new RegExp(
  String.raw`${signs.source}|\bENOTFOUND\b|fetch failed|NameResolutionError|no such host|nodename nor servname`,
  'i',
);

/** Maximum size in bytes of a stdout chunk that is searched for such messages. Errors are short. */
const maxResultBytes = 4096;

/** Handlers of a server's output, which search it for signs of a missing network. */
type NetworkHint = {
  /** Searches a line of stderr and forwards it. */
  readonly stderr: (line: string) => void;
  /** Searches the server's responses: many servers report an error to the client only. */
  readonly stdout: (chunk: Buffer) => void;
};

type Needs = Pick<LaunchEvents, 'stderr' | 'advice'>;

/** Adds one line to the stderr of a server if one of its libraries seems to ignore the proxy. */
export const createProxyHint = (
  { server }: Pick<LaunchSpec, 'server'>,
  needs: Needs,
): NetworkHint =>
  createHint(
    signs,
    `${server} reaches the network through a proxy (HTTP_PROXY, HTTPS_PROXY), which a library of it seems to ignore. ` +
      'Make it use the proxy, or name the target with its port in "network": {"allow": ["api.example.com:443"]}, which is reached without a proxy, too',
    needs,
  );

/**
 * Adds one line to the stderr of a server without a network if it reports that it cannot reach a host. Not for the
 * hub's own programs: they reach models through the hub, and quote its errors.
 */
export function createNoNetworkHint(
  { server, target }: Pick<LaunchSpec, 'server' | 'target'>,
  needs: Needs,
): NetworkHint {
  if (target.kind === 'docker' && 'context' in target.image)
    return { stderr: line => needs.stderr(line), stdout: () => {} };
  return createHint(
    networkSigns,
    `${server} has reported that it cannot reach a host, and its entry grants no network. ` +
      'If it needs one, name its hosts in the entry: "network": {"allow": ["api.example.com"]}, or allow all with "network": "bridge"',
    needs,
  );
}

function createHint(found: RegExp, advice: string, needs: Needs): NetworkHint {
  let isTold = false;
  function look(text: string): void {
    if (isTold || !found.test(text)) return;
    isTold = true;
    needs.stderr(`AgentHub: ${advice}`);
    needs.advice?.(advice);
  }
  return {
    stderr(line) {
      needs.stderr(line);
      look(line);
    },
    stdout(chunk) {
      if (!isTold && chunk.length <= maxResultBytes) look(chunk.toString('latin1'));
    },
  };
}
