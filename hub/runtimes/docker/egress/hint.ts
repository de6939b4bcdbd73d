import type { LaunchSpec } from '#runtimes';

/** What programs print when they look up a name or connect without the proxy. */
const signs =
  /\b(?:ENETUNREACH|EAI_AGAIN)\b|getaddrinfo|Network is unreachable|Temporary failure in name resolution|Could not resolve host|Name or service not known/i;

/** Passes on the stderr of a server, and adds a line once if a library of it seems to ignore the proxy. */
export function withProxyHint({ server }: LaunchSpec, stderr: (line: string) => void) {
  let isTold = false;
  return (line: string): void => {
    stderr(line);
    if (isTold || !signs.test(line)) return;
    isTold = true;
    stderr(
      `AgentHub: ${server} reaches the network through a proxy (HTTP_PROXY, HTTPS_PROXY), which a library of it seems to ignore. ` +
        'Make it use the proxy, or name the target with its port in "network": {"allow": ["api.example.com:443"]}, which is reached without a proxy, too',
    );
  };
}
