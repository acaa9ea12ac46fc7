// An OpenID Connect provider with test users, for local clusters: see docs/local-cluster.md.
// Everything but its signing key is kept in memory: if it restarts, people log in again.

import { createPrivateKey, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

import Provider, { interactionPolicy } from 'oidc-provider';

const { CLIENT_ID, ISSUER } = process.env;
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
const SCOPES = 'openid email profile offline_access';
const LONGEST_FORM = 4096;

const users = JSON.parse(readFileSync('/etc/oidc-provider/users.json', 'utf8'));
const key = readFileSync('/etc/oidc-provider/tls/tls.key', 'utf8');
const cert = readFileSync('/etc/oidc-provider/tls/tls.crt', 'utf8');

// The client is our own, so nobody has to consent; by default, native clients ask each time.
const policy = interactionPolicy.base();
policy.get('consent').checks.remove('native_client_prompt');

async function loadExistingGrant(ctx) {
  const { client, provider: issuer, session } = ctx.oidc;
  const known = session.grantIdFor(client.clientId);
  const found = known && (await issuer.Grant.find(known));
  if (found) return found;
  const grant = new issuer.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(SCOPES);
  await grant.save();
  return grant;
}

function findAccount(_ctx, id) {
  const user = users.find((each) => each.sub === id);
  if (!user) return undefined;
  const { password, ...claims } = user;
  return { accountId: id, claims: () => ({ ...claims, email_verified: true }) };
}

const provider = new Provider(ISSUER, {
  clients: [
    {
      client_id: CLIENT_ID,
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1/'],
      response_types: ['code'],
      grant_types: [
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  // The same key as for TLS, which the cluster keeps: tokens outlive a restart.
  jwks: { keys: [{ ...createPrivateKey(key).export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
  conformIdTokenClaims: false, // API servers read the ID token alone
  features: {
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true },
    revocation: { enabled: true },
  },
  findAccount,
  interactions: { policy, url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  loadExistingGrant,
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: {
    // So short that every test sees refreshes.
    IdToken: MINUTE,
    AccessToken: MINUTE,
    DeviceCode: 10 * MINUTE,
    Interaction: 10 * MINUTE,
    Grant: 14 * DAY,
    RefreshToken: 14 * DAY,
    Session: DAY,
  },
});

function answer(response, status, text) {
  response.writeHead(status, {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Content-Type': 'text/html; charset=utf-8',
  });
  response.end(`<!doctype html><meta charset="utf-8"><title>Log in</title>${text}`);
}

function page(problem = '') {
  return `<h1>Log in</h1><p>${problem}</p><form method="post">
    <label>Email <input name="email" type="email" required autofocus></label>
    <label>Password <input name="password" type="password" required></label>
    <button>Log in</button></form>`;
}

async function readForm(request) {
  let text = '';
  for await (const piece of request) {
    text += piece;
    if (text.length > LONGEST_FORM) throw new Error('the form is too long');
  }
  return new URLSearchParams(text);
}

function same(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function interact(request, response) {
  await provider.interactionDetails(request, response); // throws if the browser has none
  if (request.method !== 'POST') return answer(response, 200, page());
  const form = await readForm(request);
  const user = users.find((each) => each.email === form.get('email'));
  if (!user || !same(user.password, form.get('password') ?? '')) {
    return answer(response, 401, page('There is no such user, or the password is wrong.'));
  }
  return provider.interactionFinished(request, response, { login: { accountId: user.sub } });
}

const callback = provider.callback();
const server = createServer({ key, cert }, (request, response) => {
  if (!request.url.startsWith('/interaction/')) return callback(request, response);
  return interact(request, response).catch((error) => {
    console.error(error.message);
    answer(response, 400, '<p>This login has expired. Start it again.</p>');
  });
});
process.on('SIGTERM', () => server.close(() => process.exit(0)) && server.closeAllConnections());
server.listen(Number(new URL(ISSUER).port), () => console.log(`serves ${ISSUER}`));
