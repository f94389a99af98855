import { expect } from 'vitest'
import { receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { openBound, PUBLIC_URL } from './harness/prover.js'

describeAttacks('a proof that was made for another request (RFC 9449 §4.3 steps 8 and 9, §11.1)', () => {
  ownAttack('the method of another request', async () => {
    const { prove, call, callNode } = await openBound()
    expect(await call(prove())).toBe('ok')
    for (const htm of ['POST', 'get', 'Get', ' GET', 'GET ', 'GET,POST', 'HEAD', '*', 'GET\0', 'ＧＥＴ']) {
      expect(await call(prove({ claims: { htm } })), htm).toBe('PROOF_INVALID')
    }
    for (const htm of [undefined, null, '', 7, true, ['GET'], { GET: 1 }]) {
      expect(await call(prove({ claims: { htm } })), JSON.stringify(htm)).toBe('PROOF_INVALID')
    }
    // A method is case-sensitive (RFC 9110 §9.1), and one that is not known is no method of a proof.
    expect(await callNode(prove({ method: 'PURGE' }), { method: 'PURGE' })).toBe('ok')
    expect(await callNode(prove({ method: 'purge' }), { method: 'PURGE' })).toBe('PROOF_INVALID')
    expect(await callNode(prove({ claims: { htm: 'undefined' } }), { method: undefined })).toBe(
      'PROOF_INVALID',
    )
    expect(await call(prove({ method: 'GET' }), { method: 'DELETE' })).toBe('PROOF_INVALID')
  })

  ownAttack('the URL of another host, path, port or scheme', async () => {
    const { prove, call } = await openBound()
    const url = `${PUBLIC_URL}/notes/1`
    expect(await call(prove({ url }), { url })).toBe('ok')
    for (const htu of [
      'https://evil.example/notes/1',
      'https://api.example.evil.example/notes/1',
      'https://api.example@evil.example/notes/1',
      'https://evil.example#@api.example/notes/1',
      'https://user@api.example/notes/1',
      'https://user:password@api.example/notes/1',
      'https://:@evil.example/notes/1',
      'https://api.example./notes/1',
      'https://xn--pi-8kc.example/notes/1',
      'https://аpi.example/notes/1',
      'http://api.example/notes/1',
      'https://api.example:8443/notes/1',
      'https://api.example:80/notes/1',
      'wss://api.example/notes/1',
      'blob:https://api.example/notes/1',
      'view-source:https://api.example/notes/1',
      'https://api.example/notes/2',
      'https://api.example/notes/1/',
      'https://api.example/notes',
      'https://api.example/Notes/1',
      'https://api.example//notes/1',
      'https://api.example/notes//1',
      'https://api.example/notes/1;x=1',
      'https://api.example/notes%2F1',
      'https://api.example/notes%5C1',
      'https://api.example/notes/%31%00',
      'https://api.example/notes/1%20',
      'https://api.example/%2E%2E%2Fnotes/1',
      '/notes/1',
      '//api.example/notes/1',
      'api.example/notes/1',
      '*',
      'null',
      ' ',
    ]) {
      expect(await call(prove({ claims: { htu } }), { url }), htu).toBe('PROOF_INVALID')
    }
    for (const htu of [undefined, null, '', 7, {}, [url]]) {
      expect(await call(prove({ claims: { htu } }), { url }), JSON.stringify(htu)).toBe('PROOF_INVALID')
    }
  })

  ownAttack(
    'the same URL in other words passes, whatever its query and fragment (RFC 9449 §4.3)',
    async () => {
      const { prove, call, callNode } = await openBound()
      for (const htu of [
        'https://api.example/~ada/a%2Fb',
        'https://api.example/~ada/a%2fb?of=another#request',
        'HTTPS://API.EXAMPLE:443/%7eada/a%2Fb',
        'https://api.example/%7E%61da/a%2Fb?',
      ]) {
        expect(await call(prove({ url: htu }), { url: `${PUBLIC_URL}/~ada/a%2Fb?q=1` }), htu).toBe('ok')
        expect(await callNode(prove({ url: htu }), { url: '/%7Eada/a%2fb?q=1' }), htu).toBe('ok')
      }
    },
  )

  ownAttack('a request target with dot segments, which a router may take literally', async () => {
    const { prove, callNode } = await openBound({ dpop: { publicUrl: `${PUBLIC_URL}/v1` } })
    expect(await callNode(prove({ url: `${PUBLIC_URL}/v1/notes` }), { url: '/notes' })).toBe('ok')
    for (const [target, htu] of [
      ['/../notes', '/notes'],
      ['/%2e%2e/notes', '/notes'],
      ['/%2E./notes', '/notes'],
      ['/admin/../notes', '/v1/notes'],
      ['/admin/%2e%2E/notes', '/v1/notes'],
      ['/admin/..\\notes', '/v1/notes'],
      ['/admin\\../notes', '/v1/notes'],
      ['/./notes', '/v1/notes'],
      ['/notes/.', '/v1/notes/'],
      ['/notes/x/%2e%2e', '/v1/notes/'],
      ['/admin\\notes', '/v1/admin/notes'],
      ['/no\ttes', '/v1/notes'],
      ['http://api.example/admin/../notes', '/v1/notes'],
    ] as const) {
      expect(await callNode(prove({ url: PUBLIC_URL + htu }), { url: target }), target).toBe('PROOF_INVALID')
    }
    const byFunction = await openBound({ dpop: { publicUrl: () => PUBLIC_URL } })
    for (const [target, outcome] of [
      ['/notes?x#y', 'ok'],
      ['/admin/../notes', 'PROOF_INVALID'],
      ['/%2e/notes', 'PROOF_INVALID'],
    ] as const) {
      const proof = byFunction.prove({ url: `${PUBLIC_URL}/notes` })
      expect(await byFunction.callNode(proof, { url: target }), target).toBe(outcome)
    }
  })

  ownAttack('a request target that names a host', async () => {
    const { prove, callNode, accessToken, tokens } = await openBound()
    for (const [target, htu] of [
      ['//evil.example/notes', 'https://evil.example/notes'],
      ['//evil.example/notes', 'https://api.example/notes'],
      ['https://evil.example/notes', 'https://evil.example/notes'],
      ['http://api.example/notes', 'http://api.example/notes'],
      ['@evil.example/notes', 'https://api.example@evil.example/notes'],
      ['.evil.example/notes', 'https://api.example.evil.example/notes'],
      [':8443/notes', 'https://api.example:8443/notes'],
      ['evil.example:443', 'https://evil.example/'],
      ['*', 'https://api.example/*'],
      ['*', 'https://api.example/'],
      ['', 'https://api.example/'],
      ['http:notes', 'https://api.example/notes'],
      ['http:///notes', 'https://notes/'],
      ['http://[/notes', 'https://api.example/notes'],
      ['ftp://api.example/notes', 'https://api.example/notes'],
      ['javascript:/notes', 'https://api.example/notes'],
    ] as const) {
      expect(await callNode(prove({ url: htu }), { url: target }), target).toBe('PROOF_INVALID')
    }
    expect(await callNode(prove({ url: 'https://api.example//notes' }), { url: '//notes' })).toBe('ok')
    // RFC 9112 §3.2.2: a server must accept the absolute form. Its host is not asked.
    for (const target of ['http://evil.example/notes', 'https://user:pass@evil.example:1/notes?q']) {
      expect(await callNode(prove({ url: `${PUBLIC_URL}/notes` }), { url: target }), target).toBe('ok')
    }
    const headers = [
      ['Authorization', `DPoP ${accessToken}`],
      ['DPoP', prove({ url: 'http://evil.example/notes' })],
    ] as const
    const text = toHttpText('GET http://evil.example/notes', headers)
    expect(await receive(text, (request) => outcomeOf(tokens.accessTokenRequired(request)))).toBe(
      'PROOF_INVALID',
    )
  })

  ownAttack('headers that claim another host', async () => {
    const { prove, call, callNode } = await openBound()
    const evil = 'https://evil.example/'
    const headers = {
      host: 'evil.example',
      forwarded: 'host=evil.example;proto=https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '443',
      'x-forwarded-prefix': '/',
      'x-original-host': 'evil.example',
      'x-original-url': '/notes',
      'x-rewrite-url': '/notes',
      'x-http-method-override': 'DELETE',
      ':authority': 'evil.example',
    }
    expect(await callNode(prove({ url: evil }), { headers })).toBe('PROOF_INVALID')
    expect(await callNode(prove({ url: `${PUBLIC_URL}/notes` }), { headers })).toBe('PROOF_INVALID')
    expect(await callNode(prove({ method: 'DELETE' }), { headers })).toBe('PROOF_INVALID')
    expect(await callNode(prove(), { headers })).toBe('ok')
    // Nor is the host of a Fetch request, which comes from the same header.
    expect(await call(prove({ url: evil }), { url: evil })).toBe('PROOF_INVALID')
    expect(await call(prove(), { url: evil })).toBe('ok')
  })

  ownAttack('an application next to this one on the host, where a proxy strips the prefix', async () => {
    const { prove, callNode } = await openBound({
      dpop: { publicUrl: [`${PUBLIC_URL}/v1/`, 'https://www.example/api'] },
    })
    for (const [htu, outcome] of [
      ['https://api.example/v1/notes', 'ok'],
      ['https://www.example/api/notes', 'ok'],
      ['https://api.example/notes', 'PROOF_INVALID'],
      ['https://api.example/v2/notes', 'PROOF_INVALID'],
      ['https://api.example/v1notes', 'PROOF_INVALID'],
      ['https://api.example/api/notes', 'PROOF_INVALID'],
      ['https://www.example/v1/notes', 'PROOF_INVALID'],
      ['https://www.example/notes', 'PROOF_INVALID'],
    ] as const) {
      expect(await callNode(prove({ url: htu }), { url: '/notes' }), htu).toBe(outcome)
    }
  })

  ownAttack('a public URL with an empty query or fragment, which must not swallow every path', async () => {
    for (const publicUrl of ['https://api.example?', 'https://api.example/#', 'https://api.example/v1/?#']) {
      const { prove, callNode } = await openBound({ dpop: { publicUrl } })
      const base = publicUrl.includes('/v1') ? `${PUBLIC_URL}/v1` : PUBLIC_URL
      for (const path of ['/', '/v1', '/v1/', '/v1/notes']) {
        expect(await callNode(prove({ url: PUBLIC_URL + path }), { url: '/admin' }), path).toBe(
          'PROOF_INVALID',
        )
      }
      expect(await callNode(prove({ url: `${base}/admin` }), { url: '/admin' }), publicUrl).toBe('ok')
    }
  })

  ownAttack('a function for the public URL that fails, on required and optional routes', async () => {
    for (const publicUrl of [
      () => {
        throw new RangeError('unknown host')
      },
      () => null,
      () => '',
      () => '/notes',
      () => 'https://user@api.example/',
      () => Promise.resolve(`${PUBLIC_URL}/`),
    ]) {
      const { tokens, create, accessToken, createRequest, prove } = await openBound()
      const failing = create({ publicUrl: publicUrl as () => string })
      const proof = prove()
      // A fault of the application is no answer about the token; its proof is still good.
      const thrown = expect.stringMatching(/^(?:Type|Range)Error: /)
      for (const dependency of [failing.accessTokenRequired, failing.accessTokenOptional]) {
        expect(await outcomeOf(dependency(createRequest(proof)))).toEqual(thrown)
      }
      const proofOf = createRequest(proof)
      expect(await outcomeOf(failing.verify(accessToken, { proofOf }))).toEqual(thrown)
      expect(await outcomeOf(tokens.accessTokenRequired(createRequest(proof)))).toBe('ok')
    }
  })
})
