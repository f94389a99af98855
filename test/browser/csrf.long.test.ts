import { describe } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { describeCsrfOrigins } from './describe-csrf-origins.js'
import { describeForgedRequests } from './describe-forged-requests.js'
import { describePlantedCookies } from './describe-planted-cookies.js'
import { describeTwoTabs } from './describe-two-tabs.js'

// One file, because a browser takes longer to start than most of these attacks.
describeWithChromium('in a real browser', (browser) => {
  describe('requests that another site starts', () => describeForgedRequests(browser))
  describe('cookies that a sub-domain plants', () => describePlantedCookies(browser))
  describe('two tabs of one session', () => describeTwoTabs(browser))
  describe('JWT_CSRF_ORIGINS', () => describeCsrfOrigins(browser))
})
