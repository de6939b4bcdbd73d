import { wordsOf } from './words.ts';

/**
 * Names of languages, tools, services and systems, whose case does not matter; `=` joins spellings of one name. Everyday
 * English words (go, swift, node, spring) are missing: they are names only if capitalized.
 */
const known = `javascript=js=ecmascript typescript=ts python=py python3 python2 java kotlin scala ruby rust
  golang php perl haskell erlang elixir clojure fortran cobol matlab julia c++=cpp c#=csharp f# .net
  objective-c bash zsh powershell lua solidity ocaml wasm=webassembly
  json yaml=yml xml csv tsv toml html css scss sass sql graphql protobuf markdown=md latex jsonc
  parquet avro svg pdf utf-8=utf8 base64 ascii unicode jwt oauth oauth2 saml ldap http https http/2 tcp
  udp dns tls ssl ssh ftp sftp smtp imap websocket=websockets grpc mqtt amqp api apis cli gui
  sdk orm cors csrf xss crud cdn vpn ipv4 ipv6 url uri utc
  react=reactjs vue=vuejs svelte sveltekit angular angularjs nextjs=next.js nuxt preact jquery
  redux zustand mobx tailwind=tailwindcss bootstrap webpack vite rollup esbuild babel eslint
  prettier jest vitest mocha jasmine cypress playwright selenium puppeteer storybook pytest unittest
  junit rspec npm yarn pnpm deno nodejs=node.js fastify koa nestjs django fastapi rails
  laravel symfony hibernate maven gradle pip conda cargo homebrew pandas numpy scipy
  pytorch tensorflow keras sklearn=scikit-learn jupyter hadoop airflow dbt lodash axios zod prisma
  sequelize typeorm sqlalchemy celery
  postgres=postgresql mysql mariadb sqlite mongodb=mongo redis memcached hazelcast cassandra dynamodb
  elasticsearch opensearch clickhouse snowflake bigquery mssql firebase supabase neo4j qdrant
  kafka rabbitmq nats sqs zeromq
  docker podman kubernetes=k8s helm terraform ansible pulumi vagrant nginx apache haproxy traefik
  envoy istio prometheus grafana datadog sentry jenkins github gitlab bitbucket circleci aws azure gcp
  s3 ec2 heroku vercel netlify cloudflare stripe paypal twilio auth0 okta keycloak
  linux windows macos=osx ubuntu debian fedora centos alpine archlinux android ios wsl
  chrome firefox safari vim neovim emacs vscode intellij xcode git mercurial svn
  openai anthropic claude chatgpt gpt ollama llama gemini mistral copilot langchain
  english german french spanish italian portuguese dutch russian chinese japanese korean turkish
  arabic hindi swedish deutsch englisch französisch spanisch`;

/** The normalized spelling of each name, by its spellings in lower case. */
export const names: ReadonlyMap<string, string> = new Map(
  wordsOf(known).flatMap(group => {
    const spellings = group.split('=');
    return spellings.map(spelling => [spelling.toLowerCase(), spellings[0] ?? spelling] as const);
  }),
);
