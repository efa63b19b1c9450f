# The market's server and agents. Packages are the locked ones, checked by their hashes.
FROM python:3.12-slim
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-cache-dir --require-hashes -r requirements.lock \
 && python -m pip install --no-cache-dir --no-deps --no-build-isolation . \
 && useradd --create-home --uid 1000 kantor && install -d -o kantor /market
USER kantor
VOLUME /market
ENTRYPOINT ["kantor"]
CMD ["serve", "/market", "--host", "0.0.0.0"]
