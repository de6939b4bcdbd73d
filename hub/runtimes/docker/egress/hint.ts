import type { LaunchSpec } from '#runtimes';

/** What programs print when they look up a name or connect without the proxy. */
const signs =
  /\b(?:ENETUNREACH|EAI_AGAIN)\b|getaddrinfo|Network is unreachable|Temporary failure in name resolution|Could not resolve host|Name or service not known/i;

/** Maximum size in bytes of a result that is read for signs. Errors are short. */
const maxResultBytes = 4096;

/** What the server writes, as it is read for signs of a library that ignores the proxy. */
export type ProxyHint = {
  /** Passes on a line of stderr. */
  readonly stderr: (line: string) => void;
  /** Reads what the server answers: many servers report an error to the client only. */
  readonly stdout: (chunk: Buffer) => void;
};

/** Adds a line to the stderr of a server once if a library of it seems to ignore the proxy. */
export function createProxyHint({ server }: LaunchSpec, stderr: (line: string) => void): ProxyHint {
  let isTold = false;
  function look(text: string): void {
    if (isTold || !signs.test(text)) return;
    isTold = true;
    stderr(
      `AgentHub: ${server} reaches the network through a proxy (HTTP_PROXY, HTTPS_PROXY), which a library of it seems to ignore. ` +
        'Make it use the proxy, or name the target with its port in "network": {"allow": ["api.example.com:443"]}, which is reached without a proxy, too',
    );
  }
  return {
    stderr(line) {
      stderr(line);
      look(line);
    },
    stdout(chunk) {
      if (!isTold && chunk.length <= maxResultBytes) look(chunk.toString('latin1'));
    },
  };
}
