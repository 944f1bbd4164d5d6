import { useEffect, useRef, useState } from "preact/hooks";
import type { Desk } from "./desk.ts";
import { claimsOf } from "./session.ts";
import { useStore } from "./use-store.ts";

/** Asks for a token, and for the tenant where the token does not say it. */
export function SignIn({ desk }: { desk: Desk }) {
  const { form } = useStore(desk.store);
  const [token, setToken] = useState(form.token);
  const [tenant, setTenant] = useState(form.tenant);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setToken(form.token);
    setTenant(form.tenant);
  }, [form]);
  useEffect(() => first.current?.focus(), []);
  const named = claimsOf(token.trim())?.tenant ?? null;
  return (
    <main class="sign-in">
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          desk.signIn(token, tenant);
        }}
      >
        <h1>Fairlane</h1>
        <p class="quiet">
          Paste an access token. It stays in this tab and ends with it. The local server has written one to{" "}
          <code>.fairlane/token</code>.
        </p>
        {form.problem !== null && (
          <p class="problem" role="alert">
            {form.problem}
          </p>
        )}
        <label for="token">Token</label>
        <input
          ref={first}
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-describedby="token-hint"
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <p id="token-hint" class="hint">
          Leave it empty where the server runs with AUTH=off.
        </p>
        <label for="tenant">Tenant</label>
        <input
          id="tenant"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={named ?? tenant}
          disabled={named !== null}
          aria-describedby="tenant-hint"
          onInput={(event) => setTenant(event.currentTarget.value)}
        />
        <p id="tenant-hint" class="hint">
          {named === null
            ? "Needed where the token is for every tenant (*), such as demo."
            : "The token says it."}
        </p>
        <button class="primary" type="submit">
          Open
        </button>
      </form>
    </main>
  );
}
