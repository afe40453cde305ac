"""Scores for a learning platform by LTI 1.3 Advantage, without a web tool: its services are called offline.

Needs the optional group `lti` of pyproject.toml. The specifications:

- Security Framework 1.0, https://www.imsglobal.org/spec/security/v1p0/ (section 4: client credentials)
- Assignment and Grade Services 2.0 (AGS), https://www.imsglobal.org/spec/lti-ags/v2p0/
- Names and Role Provisioning Services 2.0 (NRPS), https://www.imsglobal.org/spec/lti-nrps/v2p0/
"""
