"""Values of JSON for properties that hold whatever is sent, and how such properties are tried."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# However slow the machine, and without a database beside the tests.
many = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
